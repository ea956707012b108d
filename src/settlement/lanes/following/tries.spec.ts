import { describe, expect, it } from '@jest/globals';
import { Tries } from './tries.js';

describe('fruitless tries', () => {
  it('are three, at three blocks, with pauses between them', () => {
    const tries = new Tries();
    expect(tries.mayTry('a', 0)).toBe(true);
    expect(tries.failed('a', 0, 10n)).toBe(false);
    expect([249, 250].map((now) => tries.mayTry('a', now))).toEqual([false, true]);
    expect(tries.failed('a', 250, 11n)).toBe(false);
    expect([1249, 1250].map((now) => tries.mayTry('a', now))).toEqual([false, true]);
    expect(tries.failed('a', 1250, 12n)).toBe(true);
  });

  it('do not count while the chain stands still, or goes back', () => {
    const tries = new Tries();
    for (let round = 0; round < 20; round += 1) {
      expect(tries.failed('a', round * 2000, 10n)).toBe(false);
      expect(tries.failed('a', round * 2000, 9n)).toBe(false);
    }
    expect(tries.failed('a', 50_000, 11n)).toBe(false);
    expect(tries.failed('a', 60_000, 12n)).toBe(true);
  });

  it('of one thing are not those of another', () => {
    const tries = new Tries();
    tries.failed('a', 0, 1n);
    expect([tries.mayTry('a', 0), tries.mayTry('b', 0)]).toEqual([false, true]);
  });

  it('are not counted of what was only put off', () => {
    const tries = new Tries();
    tries.wait('a', 500);
    expect([tries.mayTry('a', 499), tries.mayTry('a', 500)]).toEqual([false, true]);
    expect(tries.failed('a', 500, 1n)).toBe(false);
    expect(tries.failed('a', 600, 2n)).toBe(false);
    // Put off in between: what was counted stays so.
    tries.wait('a', 700);
    expect(tries.failed('a', 700, 3n)).toBe(true);
  });

  it('start again at zero after a result', () => {
    const tries = new Tries();
    tries.failed('a', 0, 1n);
    tries.failed('a', 0, 2n);
    tries.forget('a');
    expect([tries.mayTry('a', 0), tries.failed('a', 0, 3n)]).toEqual([true, false]);
  });
});
