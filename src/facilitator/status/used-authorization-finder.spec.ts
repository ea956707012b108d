import { describe, expect, it } from '@jest/globals';
import { UsedAuthorizationFinder } from './used-authorization-finder.js';

describe('a search for who used an authorization', () => {
  it.each([
    ['after a second and a half', undefined, 1500],
    ['so also where its request has longer', 60_000, 1500],
    ['with its request', 700, 700],
    ['not before a look, where its request has no time left', -5000, 300],
  ])('is given up %s', (_, leftMs, expected) => {
    const finder = new UsedAuthorizationFinder();
    const deadlineAt = leftMs === undefined ? undefined : Date.now() + leftMs;
    const ms = finder.until(deadlineAt) - performance.now();
    expect([ms > expected - 100, ms <= expected + 1]).toEqual([true, true]);
  });
});
