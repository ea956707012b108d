import { beforeEach, describe, expect, it } from '@jest/globals';
import type { PinoLogger } from 'nestjs-pino';
import { hashNamed } from '../../../test/builders/history/reconciliation/records.js';
import { TestClock } from '../../../test/builders/platform/concurrency/clock.js';
import type { NetworkConfig } from '../../platform/config/app-config.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import { ArchiveError } from '../archive.js';
import {
  DailyReconciliation,
  type DailyRuns,
  isDue,
  type NewestRun,
} from './daily-reconciliation.js';
import type { ReconcilerTask } from './reconciler.js';
import { ReconciliationHealth } from './reconciliation-health.js';
import type { Reconciliation } from './settlement-history.js';

const DAY_MS = 86_400_000;
/** TestClock stands at 22:13:20 of a day. */
const MIDNIGHT = 1_699_920_000_000;
const AT = 210;

function aNewest(startedMs: number, more: Partial<NewestRun> = {}): NewestRun {
  return {
    chainId: 56,
    counts: new Map(),
    settlements: 3,
    hasBlocks: true,
    checkpoint: undefined,
    startedAt: new Date(startedMs),
    finishedAt: new Date(startedMs + 5000),
    ...more,
  };
}

/** The runs of a database, and its leases. */
class MemoryRuns implements DailyRuns {
  newestRun: NewestRun | undefined;
  holder: string | undefined;
  failure: Error | undefined;

  newest(): Promise<NewestRun | undefined> {
    return this.failure ? Promise.reject(this.failure) : Promise.resolve(this.newestRun);
  }
  lease(_chainId: number, holder: string): Promise<boolean> {
    this.holder ??= holder;
    return Promise.resolve(this.holder === holder);
  }
  release(_chainId: number, holder: string): Promise<void> {
    if (this.holder === holder) this.holder = undefined;
    return Promise.resolve();
  }
}

describe('the time of the daily run', () => {
  const noon = MIDNIGHT + DAY_MS / 2;
  it.each<[boolean, string, number, NewestRun | undefined]>([
    [true, 'before the first run', noon, undefined],
    [true, 'when the last one is of yesterday', noon, aNewest(MIDNIGHT)],
    [false, 'when it was made today', noon, aNewest(MIDNIGHT + AT * 60_000)],
    [false, 'before it', MIDNIGHT, aNewest(MIDNIGHT - DAY_MS + AT * 60_000)],
    [true, 'before it, when yesterday has none', MIDNIGHT, aNewest(MIDNIGHT - DAY_MS)],
    [
      false,
      'just after one that read no chain',
      noon,
      aNewest(noon - 60_000, { hasBlocks: false }),
    ],
    [true, 'a while after one', noon, aNewest(noon - 700_000, { hasBlocks: false })],
  ])('is %s %s', (due, _, now, newest) => {
    expect(isDue(now, AT, newest)).toBe(due);
  });
});

describe('the daily reconciliation', () => {
  let runs: MemoryRuns;
  let clock: TestClock;
  let tasks: ReconcilerTask[];
  let failures: unknown[];
  let finished: number;
  let lagMs: number;
  let work: () => Promise<void>;

  const daily = (processId = 'one') =>
    new DailyReconciliation(
      runs,
      {
        reconcile: async (_, task, signal) => {
          tasks.push(task);
          await work();
          signal.throwIfAborted();
          runs.newestRun = aNewest(clock.now());
          return { chainId: 56, counts: new Map() } as unknown as Reconciliation;
        },
        archiveLagMs: () => Promise.resolve(lagMs),
      },
      { processId },
      {
        info: () => {
          finished += 1;
        },
        error: ({ err }: { readonly err?: unknown }) => {
          failures.push(err);
        },
      } as unknown as PinoLogger,
      clock,
      { networks: [{ chainId: 56 } as NetworkConfig], history: { reconcilesAt: AT } },
      {
        whenThere: (begin) => {
          begin();
        },
      },
    );

  beforeEach(() => {
    runs = new MemoryRuns();
    clock = new TestClock();
    tasks = [];
    failures = [];
    finished = 0;
    lagMs = 0;
    work = () => Promise.resolve();
  });

  it('runs once, and again the next day', async () => {
    const one = daily();
    await one.round();
    await one.round();
    expect(tasks).toEqual([
      {
        startedBy: 'daily',
        window: { fromMs: clock.now() - DAY_MS, toMs: clock.now() },
        resume: undefined,
      },
    ]);
    expect([finished, runs.holder, one.newest.get(56)]).toEqual([1, undefined, runs.newestRun]);
    await clock.pass(DAY_MS);
    await one.round();
    expect(tasks).toHaveLength(2);
  });

  it('goes on where the last run ended, however long ago', async () => {
    const checkpoint = { lastBlock: 9n, lastHash: hashNamed('9'), toMs: 7, lanes: new Map() };
    runs.newestRun = aNewest(clock.now() - 5 * DAY_MS, { checkpoint });
    await daily().round();
    expect(tasks).toMatchObject([{ window: { fromMs: 7, toMs: clock.now() }, resume: checkpoint }]);
  });

  it('is made by one process at a time', async () => {
    runs.holder = 'another';
    await daily().round();
    expect(tasks).toEqual([]);
    expect(runs.holder).toBe('another');
    runs.holder = undefined;
    let other: Promise<void> = Promise.resolve();
    work = () => (other = daily('two').round());
    await daily().round();
    await other;
    expect(tasks).toHaveLength(1);
  });

  it('waits for an archive that is behind', async () => {
    lagMs = 60_000;
    const one = daily();
    await one.round();
    expect(tasks).toEqual([]);
    lagMs = 0;
    await one.round();
    expect(tasks).toHaveLength(1);
  });

  it('is tried again after a failure, not at once', async () => {
    const fault = new TypeError('a fault');
    work = () => Promise.reject(fault);
    const one = daily();
    await one.round();
    await one.round();
    expect([tasks.length, failures, runs.holder]).toEqual([1, [fault], undefined]);
    await clock.pass(600_000);
    work = () => Promise.resolve();
    await one.round();
    expect([tasks.length, finished]).toEqual([2, 1]);
  });

  it('looks for a database that is away again soon, and tells of it once', async () => {
    runs.failure = new ArchiveError('schema_outdated', '42P01');
    const one = daily();
    await one.round();
    await one.round();
    expect(failures).toEqual([runs.failure]);
    runs.failure = new RedisUnavailableError('lanes', undefined);
    await one.round();
    expect(failures).toHaveLength(1);
    runs.failure = undefined;
    await one.round();
    expect(finished).toBe(1);
  });

  it('keeps nothing of a run that is under way when the process ends', async () => {
    let release = (): void => undefined;
    work = () => new Promise((resolve) => (release = resolve));
    const one = daily();
    one.onModuleInit();
    await clock.pass(0);
    const stopped = one.stop();
    release();
    await stopped;
    expect([tasks.length, finished, failures, runs.newestRun]).toEqual([1, 0, [], undefined]);
  });
});

describe('the health of the books', () => {
  const now = MIDNIGHT;
  const report = (...newest: readonly NewestRun[]) => {
    const byChain = new Map(newest.map((run) => [run.chainId, run]));
    const networks = [{ chainId: 56 }];
    const health = new ReconciliationHealth({ newest: byChain }, { networks }, { now: () => now });
    const { isUp, facts } = health.report();
    return { isUp, ...facts };
  };
  const counting = (counts: Readonly<Record<string, number>>) =>
    aNewest(now - 5000, { counts: new Map(Object.entries(counts)) });

  it('names what is wrong with them, and stops nothing', () => {
    const lastRun = new Date(now).toISOString();
    expect(report(counting({ lane_funded: 1 }))).toEqual({
      isUp: true,
      enabled: true,
      differences: 0,
      notChecked: 0,
      lastRun,
    });
    expect(report(counting({ amount_differs: 2, not_checked: 1 }))).toMatchObject({
      isUp: true,
      code: 'differences',
      differences: 2,
      notChecked: 1,
    });
    expect(report(counting({ not_checked: 1 }))).toMatchObject({ code: 'not_checked' });
    expect(report(aNewest(now - 2 * DAY_MS))).toMatchObject({ code: 'overdue' });
    expect(report()).toEqual({
      isUp: true,
      enabled: true,
      code: 'not_run_yet',
      differences: 0,
      notChecked: 0,
    });
  });
});
