import { describe, expect, it } from '@jest/globals';
import { Semaphore, TooBusyError } from './semaphore.js';

describe('work that is limited', () => {
  it('runs a few at a time, in order, and goes on after a failure', async () => {
    const limited = new Semaphore(2, 10);
    const begun: number[] = [];
    let running = 0;
    let most = 0;
    const work = async (at: number): Promise<number> => {
      begun.push(at);
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      if (at === 1) throw new Error('one fails');
      return at;
    };
    const done = await Promise.allSettled([0, 1, 2, 3, 4].map((at) => limited.run(() => work(at))));
    expect(done.map(({ status }) => status === 'fulfilled')).toEqual([
      true,
      false,
      true,
      true,
      true,
    ]);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    expect(most).toBe(2);
  });

  it('serves the first line before the later one, which does not fill it', async () => {
    const limited = new Semaphore(1, 1);
    const begun: string[] = [];
    const work = (name: string) => () => {
      begun.push(name);
      return Promise.resolve();
    };
    const running = limited.run(() => new Promise((resolve) => setImmediate(resolve)));
    const later = limited.run(work('later'), 'later');
    await expect(limited.run(work('one too many'), 'later')).rejects.toThrow(TooBusyError);
    const first = limited.run(work('first'), 'first');
    await Promise.all([running, later, first]);
    expect(begun).toEqual(['first', 'later']);
  });

  it('says at once when too much is waiting, and takes work again after', async () => {
    const limited = new Semaphore(1, 1);
    const releases: (() => void)[] = [];
    const held = () => limited.run(() => new Promise<void>((resolve) => releases.push(resolve)));
    const first = held();
    const second = held();
    await expect(held()).rejects.toThrow(TooBusyError);
    releases[0]?.();
    await first;
    await new Promise((resolve) => setImmediate(resolve));
    releases[1]?.();
    await second;
    await expect(limited.run(() => Promise.resolve('free'))).resolves.toBe('free');
  });
});
