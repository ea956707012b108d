import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock, turns } from '../../../test/builders/platform/concurrency/clock.js';
import { BackgroundTasks } from './background-tasks.js';

const never = (): Promise<number> => new Promise(() => undefined);

describe('SideTasks', () => {
  let clock: TestClock;
  let reported: number;
  let tasks: BackgroundTasks<number>;

  beforeEach(() => {
    clock = new TestClock();
    reported = 0;
    tasks = new BackgroundTasks({
      most: 3,
      mostOfGroup: 2,
      limitMs: 1000,
      onResult: () => (reported += 1),
      clock,
    });
  });

  it('hands each result over once', async () => {
    expect(tasks.start('a', 'g', () => Promise.resolve(7))).toBe(true);
    expect(tasks.collect()).toEqual([]);
    await turns();
    expect(reported).toBe(1);
    expect(tasks.collect()).toEqual([{ key: 'a', kind: 'done', value: 7 }]);
    expect(tasks.collect()).toEqual([]);
  });

  it('does one task of a key at a time, also while its result waits', async () => {
    tasks.start('a', 'g', () => Promise.resolve(7));
    expect(tasks.start('a', 'g', never)).toBe(false);
    await turns();
    expect(tasks.start('a', 'g', never)).toBe(false);
    tasks.collect();
    expect(tasks.start('a', 'g', never)).toBe(true);
  });

  it('a group of slow tasks leaves room for others', () => {
    expect(['a', 'b', 'c'].map((key) => tasks.start(key, 'slow', never))).toEqual([
      true,
      true,
      false,
    ]);
    expect(tasks.start('d', 'other', never)).toBe(true);
    expect(tasks.start('e', 'third', never)).toBe(false);
  });

  it('a task that takes too long has failed, and leaves its place', async () => {
    tasks.start('a', 'g', never);
    await clock.pass(999);
    expect(tasks.collect()).toEqual([]);
    await clock.pass(1);
    expect(tasks.collect()).toEqual([{ key: 'a', kind: 'late' }]);
    expect(tasks.start('a', 'g', never)).toBe(true);
  });

  it('a failure is a result', async () => {
    tasks.start('a', 'g', () => Promise.reject(new Error('away')));
    await turns();
    expect(tasks.collect()).toEqual([{ key: 'a', kind: 'failed', error: new Error('away') }]);
  });

  it('what was forgotten comes to nothing', async () => {
    let finish: (value: number) => void = () => undefined;
    tasks.start('a', 'g', () => new Promise((resolve) => (finish = resolve)));
    await turns();
    tasks.clear();
    finish(1);
    await turns();
    expect(tasks.collect()).toEqual([]);
    expect(reported).toBe(0);
  });
});
