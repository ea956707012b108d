import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DeferredSteps } from './deferred-steps.js';

describe('steps that are owed to a ledger which is away', () => {
  let isAway: boolean;
  let taken: string[];
  let trouble: unknown[];
  let owed: DeferredSteps;

  beforeEach(() => {
    jest.useFakeTimers();
    isAway = true;
    taken = [];
    trouble = [];
    owed = new DeferredSteps({ warn: (what: unknown) => trouble.push(what) });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const step = (name: string) => () => {
    if (isAway) return Promise.reject(new Error('away'));
    taken.push(name);
    return Promise.resolve();
  };

  it('are taken at once while it is there, and nothing is owed', async () => {
    isAway = false;
    await owed.runOrDefer(step('a'));
    expect([taken, owed.count]).toEqual([['a'], 0]);
  });

  it('are owed until they are taken', async () => {
    isAway = false;
    const taking = owed.runOrDefer(step('a'));
    expect(owed.count).toBe(1);
    await taking;
    expect(owed.count).toBe(0);
  });

  it('are taken within a second of its return, in their order, each once', async () => {
    await owed.runOrDefer(step('a'));
    await owed.runOrDefer(step('b'));
    await jest.advanceTimersByTimeAsync(3000);
    expect([taken, owed.count]).toEqual([[], 2]);
    isAway = false;
    await jest.advanceTimersByTimeAsync(1000);
    expect([taken, owed.count]).toEqual([['a', 'b'], 0]);
    await jest.advanceTimersByTimeAsync(10_000);
    expect(taken).toEqual(['a', 'b']);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('are taken again after one that fails for ever, which stays owed', async () => {
    owed.defer(() => Promise.reject(new Error('never')));
    owed.defer(step('b'));
    isAway = false;
    await jest.advanceTimersByTimeAsync(2000);
    expect([taken, owed.count]).toEqual([['b'], 1]);
  });

  it('are all taken when there are more than go together', async () => {
    for (let count = 0; count < 120; count += 1) owed.defer(step(`${count}`));
    isAway = false;
    await owed.runAll();
    expect(taken).toHaveLength(120);
  });

  it('are run by one caller at a time: none overtakes the steps under way', async () => {
    let go = (): void => undefined;
    let begun = 0;
    const gate = new Promise<void>((resolve) => (go = resolve));
    for (let count = 0; count < 60; count += 1) {
      owed.defer(() => {
        begun += 1;
        return gate;
      });
    }
    const first = owed.runAll();
    await owed.runAll();
    expect([begun, owed.count]).toEqual([50, 60]);
    go();
    await first;
    expect([begun, owed.count]).toEqual([60, 0]);
  });

  it('are bounded: the oldest is let go, which is reported', async () => {
    for (let count = 0; count <= 10_000; count += 1) owed.defer(step(`${count}`));
    expect([owed.count, trouble.length]).toEqual([10_000, 1]);
    isAway = false;
    await owed.runAll();
    expect([taken[0], taken.at(-1)]).toEqual(['1', '10000']);
  });
});
