import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TestClock, turns } from '../../../test/builders/platform/concurrency/clock.js';
import { CHAIN_ID, recordingObserver } from '../../../test/builders/settlement/lanes/lane-world.js';
import { ChainUnavailableError, RedisUnavailableError } from '../../protocol/errors.js';
import type { HeldLane } from '../ledger/lane-store.js';
import type { LaneStatus } from '../model/lane-status.js';
import type { ChainWorker } from './chain-worker.js';
import { LaneReporter } from './lane-reporter.js';
import type { LaneRunner } from './lane-runner.js';
import { type LaneSlot, slotFor } from './state/lane-slot.js';

const HELD = { chainId: CHAIN_ID } as HeldLane;

/** A lane that says of itself what its name is. */
class TestRunner {
  isPaused = false;
  readonly state = { isRetired: false };
  refresh: () => Promise<void> = () => Promise.resolve();

  constructor(readonly lane: string) {}

  status(): LaneStatus {
    return { lane: this.lane } as LaneStatus;
  }
}

/** Published statuses of the lanes of a process, and requests that it reads each second. */
describe('LaneReporter', () => {
  let runners: Record<'a' | 'b', TestRunner>;
  let slots: readonly LaneSlot[];
  let sweep: () => Promise<void>;
  let sweeps: number;
  let paused: () => Promise<ReadonlySet<string>>;
  let retiring: ReadonlySet<string>;
  let published: string[];
  let publish: (lane: string) => Promise<void>;
  let reported: string[];
  let clock: TestClock;
  let reporter: LaneReporter;

  beforeEach(() => {
    runners = { a: new TestRunner('a'), b: new TestRunner('b') };
    slots = [runners.a, runners.b].map((runner) => ({
      ...slotFor(runner as unknown as LaneRunner),
      held: HELD,
    }));
    [published, reported, sweeps] = [[], [], 0];
    sweep = () => Promise.resolve();
    clock = new TestClock();
    paused = () => Promise.resolve(new Set());
    retiring = new Set();
    publish = () => Promise.resolve();
    const worker = {
      slots,
      sweep: () => {
        sweeps += 1;
        return sweep();
      },
    };
    reporter = new LaneReporter({
      workers: [worker as unknown as ChainWorker],
      switched: (which) => (which === 'paused' ? paused() : Promise.resolve(retiring)),
      publish: async ({ lane }) => {
        await publish(lane);
        published.push(lane);
      },
      observer: recordingObserver(reported),
      clock,
    });
  });

  it('tells of each lane that is held, and of no other', async () => {
    const [first] = slots;
    if (first !== undefined) first.held = undefined;
    runners.a.refresh = () => Promise.reject(new TypeError('its balance was asked for'));
    await reporter.report();
    expect([published, sweeps, reported]).toEqual([['b'], 1, []]);
    await reporter.reportLane('a');
    expect(published).toEqual(['b']);
  });

  it('tells of one lane at once when something has changed with it', async () => {
    await reporter.reportLane('b');
    await reporter.reportLane('unknown');
    expect([published, sweeps]).toEqual([['b'], 0]);
  });

  it('pauses what an operator has paused, and goes on when that is over', async () => {
    paused = () => Promise.resolve(new Set(['b']));
    await reporter.report();
    expect([runners.a.isPaused, runners.b.isPaused]).toEqual([false, true]);
    paused = () => Promise.resolve(new Set());
    await reporter.report();
    expect(runners.b.isPaused).toBe(false);
  });

  it('retires what an operator retires, until that is taken back', async () => {
    retiring = new Set(['a']);
    await reporter.report();
    expect([runners.a.state.isRetired, runners.b.state.isRetired]).toEqual([true, false]);
    retiring = new Set();
    await reporter.report();
    expect(runners.a.state.isRetired).toBe(false);
  });

  it('leaves a pause as it is while the ledger cannot be asked', async () => {
    runners.a.isPaused = true;
    paused = () => Promise.reject(new RedisUnavailableError('pauses', undefined));
    await reporter.report();
    expect([runners.a.isPaused, published]).toEqual([true, ['a', 'b']]);
  });

  it.each<[string, () => void, readonly string[]]>([
    [
      'the balance of a lane',
      () => (runners.a.refresh = () => Promise.reject(new ChainUnavailableError(CHAIN_ID, 'it'))),
      ['a', 'b'],
    ],
    [
      'the sweep of a chain',
      () => (sweep = () => Promise.reject(new RedisUnavailableError('sweep', undefined))),
      ['a', 'b'],
    ],
    [
      'the word of a lane',
      () =>
        (publish = (lane) =>
          lane === 'a'
            ? Promise.reject(new RedisUnavailableError('publish', undefined))
            : Promise.resolve()),
      ['b'],
    ],
  ])('does without %s for a second, and keeps nothing else back', async (_, change, expected) => {
    change();
    await reporter.report();
    expect([[...published].sort(), reported, sweeps]).toEqual([expected, [], 1]);
  });

  it('logs an error that does not pass by itself', async () => {
    sweep = () => Promise.reject(new TypeError('a fault'));
    await reporter.report();
    expect([published, reported]).toEqual([['a', 'b'], ['failed']]);
  });

  it('sweeps a chain again once its sweep has ended, and reports its lanes meanwhile', async () => {
    let end: () => void = () => undefined;
    sweep = () => new Promise((resolve) => (end = resolve));
    const first = reporter.report();
    await turns();
    const second = reporter.report();
    await turns();
    expect([sweeps, published]).toEqual([1, ['a', 'b', 'a', 'b']]);
    end();
    await Promise.all([first, second]);
    sweep = () => Promise.resolve();
    await reporter.report();
    expect(sweeps).toBe(2);
  });

  it('reports a lane whose balance takes long, and does not ask for it twice', async () => {
    let asked = 0;
    runners.a.refresh = () => {
      asked += 1;
      return new Promise(() => undefined);
    };
    for (let round = 1; round <= 3; round += 1) {
      const reporting = reporter.report();
      await turns();
      await clock.pass(1000);
      await reporting;
      expect([asked, published.filter((lane) => lane === 'a').length]).toEqual([1, round]);
    }
  });

  it('does not report a lane twice at once', async () => {
    let end: () => void = () => undefined;
    publish = (lane) =>
      lane === 'a' ? new Promise((resolve) => (end = resolve)) : Promise.resolve();
    const first = reporter.report();
    await turns();
    await reporter.report();
    expect(published).toEqual(['b', 'b']);
    end();
    await first;
    expect(published).toEqual(['b', 'b', 'a']);
  });

  describe('each second', () => {
    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    });
    afterEach(() => {
      jest.useRealTimers();
    });

    it('from the start on, until it is stopped', async () => {
      await reporter.start();
      expect(sweeps).toBe(1);
      jest.advanceTimersByTime(1000);
      await turns();
      expect(sweeps).toBe(2);
      reporter.stop();
      jest.advanceTimersByTime(5000);
      await turns();
      expect(sweeps).toBe(2);
    });
  });
});
