import { describe, expect, it } from '@jest/globals';
import { Rounds } from './rounds.js';

const NEVER_MS = 2_000_000_000;

describe('rounds', () => {
  it('come one after the other, with the pause that each asks for', async () => {
    const pauses = [0, 1, 0, NEVER_MS];
    let [running, done] = [0, 0];
    let last: () => void = () => undefined;
    const isDone = new Promise<void>((resolve) => (last = resolve));
    const rounds = new Rounds(async () => {
      running += 1;
      expect(running).toBe(1);
      await Promise.resolve();
      running -= 1;
      done += 1;
      if (done === pauses.length) last();
      return pauses[done - 1] ?? NEVER_MS;
    });
    rounds.start();
    rounds.start();
    await isDone;
    // The pause is ended at once.
    await rounds.stop();
    expect(done).toBe(pauses.length);
  });

  it('are stopped when the one under way has ended, and no other begins', async () => {
    let end: () => void = () => undefined;
    let begun = 0;
    const rounds = new Rounds(async () => {
      begun += 1;
      await new Promise<void>((resolve) => (end = resolve));
      return 0;
    });
    rounds.start();
    let isStopped = false;
    const stopping = rounds.stop().then(() => (isStopped = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isStopped).toBe(false);
    end();
    await stopping;
    expect(begun).toBe(1);
  });

  it('that never began are stopped at once', async () => {
    const rounds = new Rounds(() => Promise.reject(new Error('not begun')));
    await rounds.stop();
    rounds.start();
    await rounds.stop();
  });
});
