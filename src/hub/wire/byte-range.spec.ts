import { describe, expect, it } from '@jest/globals';
import { byteRangeOf, hasTag } from './payload-response.js';

const part = (from: number, length: number) => ({ kind: 'part', from, length });

describe('byteRangeOf', () => {
  it.each([
    ['bytes=0-0', part(0, 1)],
    ['bytes=2-4', part(2, 3)],
    ['bytes=7-', part(7, 3)],
    ['bytes=-3', part(7, 3)],
    ['bytes=-99', part(0, 10)],
    ['bytes=5-99', part(5, 5)],
    ['bytes=10-', { kind: 'unsatisfiable' }],
    ['bytes=10-12', { kind: 'unsatisfiable' }],
    ['bytes=-0', { kind: 'unsatisfiable' }],
    ['bytes=4-2', { kind: 'all' }],
    ['bytes=0-1,3-4', { kind: 'all' }],
    ['bytes=-', { kind: 'all' }],
    ['lines=1-2', { kind: 'all' }],
    ['bytes=9999999999999999-', { kind: 'all' }],
    [undefined, { kind: 'all' }],
  ])('of ten bytes %s', (header, range) => {
    expect(byteRangeOf(header, 10)).toEqual(range);
  });
});

describe('hasTag', () => {
  it('compares weakly, in a list', () => {
    expect(hasTag('"a", W/"b"', '"b"')).toBe(true);
    expect(hasTag('*', '"b"')).toBe(true);
    expect(hasTag('"ab"', '"b"')).toBe(false);
    expect(hasTag(undefined, '"b"')).toBe(false);
  });
});
