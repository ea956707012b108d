import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../test/builders/platform/concurrency/clock.js';
import type { RedisSetUp } from '../platform/redis/redis-watch.js';
import type { ArchiveCondition } from './archive.js';
import { HistoryHealth } from './history-health.js';

const MIB = 2 ** 20;

describe('the health of the history', () => {
  let clock: TestClock;
  let backlog: { entries: number; oldestMs: number };
  let used: number;
  let max: number;
  let trouble: ArchiveCondition | undefined;
  let health: HistoryHealth;

  beforeEach(() => {
    clock = new TestClock();
    backlog = { entries: 0, oldestMs: 0 };
    [used, max, trouble] = [100 * MIB, 1000 * MIB, undefined];
    const archiver = {
      get condition() {
        return trouble;
      },
    };
    const redis = {
      setUp: () =>
        Promise.resolve({ usedMemoryBytes: used, maxMemoryBytes: max } as unknown as RedisSetUp),
    };
    const outbox = { backlog: () => Promise.resolve({ ...backlog }) };
    const chains = { ledgerChainIds: [56, 97] };
    health = new HistoryHealth(outbox, redis, { isAway: false }, chains, clock, archiver);
  });

  const facts = async () => {
    const { isUp, facts: reportedFacts } = await health.report();
    expect(isUp).toBe(true);
    return reportedFacts;
  };

  it('is well while little waits', async () => {
    backlog = { entries: 3, oldestMs: 400 };
    expect(await facts()).toEqual({ enabled: true, waiting: 6, lagSeconds: 0 });
  });

  it('says how long memory lasts at the rate at which it grew since the archive is behind', async () => {
    backlog = { entries: 500, oldestMs: 61_000 };
    expect(await facts()).toEqual({
      enabled: true,
      code: 'lagging',
      waiting: 1000,
      lagSeconds: 61,
    });
    await clock.pass(360_000);
    used += 10 * MIB;
    // 890 MiB are left, and 100 MiB go in an hour.
    expect(await facts()).toMatchObject({ code: 'lagging', memoryHoursLeft: 8.9 });
  });

  it('does not guess: not from a moment, not without a limit, not while nothing grows', async () => {
    backlog = { entries: 500, oldestMs: 61_000 };
    await facts();
    await clock.pass(30_000);
    used += 10 * MIB;
    expect(await facts()).not.toHaveProperty('memoryHoursLeft');
    await clock.pass(30_000);
    expect(await facts()).toHaveProperty('memoryHoursLeft');
    max = 0;
    await clock.pass(1000);
    expect(await facts()).not.toHaveProperty('memoryHoursLeft');
    [max, used] = [1000 * MIB, 90 * MIB];
    await clock.pass(1000);
    expect(await facts()).not.toHaveProperty('memoryHoursLeft');
  });

  it('forgets the rate of an outage that is over', async () => {
    backlog = { entries: 500, oldestMs: 61_000 };
    await facts();
    await clock.pass(360_000);
    used += 500 * MIB;
    expect(await facts()).toHaveProperty('memoryHoursLeft');
    backlog = { entries: 0, oldestMs: 0 };
    await clock.pass(1000);
    expect(await facts()).not.toHaveProperty('memoryHoursLeft');
    backlog = { entries: 500, oldestMs: 61_000 };
    await clock.pass(1000);
    expect(await facts()).not.toHaveProperty('memoryHoursLeft');
  });

  it('names what the archiver of this process has met', async () => {
    trouble = 'database_unreachable';
    expect(await facts()).toMatchObject({ code: 'database_unreachable' });
  });
});
