import { describe, expect, it } from '@jest/globals';
import { LogThrottle } from './logging.js';

describe('LogThrottle', () => {
  it('writes the first twenty lines of a kind in ten seconds, and counts the others', () => {
    const throttle = new LogThrottle();
    const decisions = Array.from({ length: 1000 }, (_, at) => throttle.decide('queue', at));
    expect(decisions.filter(({ isWritten }) => isWritten)).toHaveLength(20);
    expect(throttle.decide('queue', 10_000)).toEqual({ isWritten: true, dropped: 980 });
    expect(throttle.decide('queue', 10_001)).toEqual({ isWritten: true, dropped: 0 });
  });

  it('leaves lines of another kind alone', () => {
    const throttle = new LogThrottle();
    for (let at = 0; at < 100; at += 1) throttle.decide('queue', at);
    expect(throttle.decide('lane', 100)).toEqual({ isWritten: true, dropped: 0 });
  });

  it('keeps no more than so many kinds', () => {
    const throttle = new LogThrottle();
    for (let kind = 0; kind < 2000; kind += 1) throttle.decide(`kind ${kind}`, 0);
    expect(throttle.decide('kind 0', 1)).toEqual({ isWritten: true, dropped: 0 });
  });
});
