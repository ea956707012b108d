import { describe, expect, it } from '@jest/globals';
import { CircuitBreaker } from './circuit-breaker.js';

describe('a circuit breaker', () => {
  let now = 0;
  const breaker = () => new CircuitBreaker({ failuresMost: 3, pauseMs: 100, steady: () => now });

  it('lets everybody through until so many have failed in a row', () => {
    const one = breaker();
    for (const step of ['failed', 'failed', 'succeeded', 'failed', 'failed'] as const) one[step]();
    expect([one.isOpen, one.admits()]).toEqual([false, true]);
    one.failed();
    expect([one.isOpen, one.admits()]).toEqual([true, false]);
  });

  it('lets one through a pause while it is open, and everybody once that one has succeeded', () => {
    const one = breaker();
    for (let i = 0; i < 3; i += 1) one.failed();
    now += 99;
    expect(one.admits()).toBe(false);
    now += 1;
    expect([one.admits(), one.admits()]).toEqual([true, false]);
    one.failed();
    now += 99;
    expect(one.admits()).toBe(false);
    now += 1;
    expect(one.admits()).toBe(true);
    one.succeeded();
    expect([one.admits(), one.admits()]).toEqual([true, true]);
  });
});
