import { describe, expect, it } from '@jest/globals';
import { turns } from '../../../test/builders/platform/concurrency/clock.js';
import { settleAll } from './timing.js';

describe('settleAll', () => {
  it('returns what all have returned', async () => {
    expect(await settleAll([Promise.resolve(1), Promise.resolve(2)])).toEqual([1, 2]);
  });

  it('fails only when the last task is over', async () => {
    let finish: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => (finish = resolve));
    const failures: unknown[] = [];
    const all = settleAll([Promise.reject(new Error('lost')), slow]).catch((error: unknown) => {
      failures.push(error);
    });
    await turns();
    expect(failures).toEqual([]);
    finish();
    await all;
    expect(failures).toEqual([new Error('lost')]);
  });
});
