import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TestClock, turns } from '../../../test/builders/platform/concurrency/clock.js';
import {
  CHAIN_ID,
  LANE,
  recordingObserver,
} from '../../../test/builders/settlement/lanes/lane-world.js';
import { MemoryLaneStore } from '../../../test/twins/settlement/ledger/memory-lane-store.js';
import { LeaseLostError, LedgerEpochChangedError } from '../../protocol/errors.js';
import type { HeldLane } from '../ledger/lane-store.js';
import type { Attempt } from '../model/attempt.js';
import { ChainWorker } from './chain-worker.js';
import { LaneHolder } from './lane-holder.js';
import type { LaneRunner } from './lane-runner.js';

const LEASE_MS = 3000;

/** A runner that works until it is stopped, or is made to fail. */
class TestRunner {
  runs: HeldLane[] = [];
  end: (error?: unknown) => void = () => undefined;
  isPaused = false;
  hangingIn: string | undefined;
  resyncingMs = 0;

  constructor(
    readonly lane: string,
    readonly hasKey: boolean,
  ) {}

  run(held: HeldLane): Promise<void> {
    this.runs.push(held);
    return new Promise((resolve, reject) => {
      this.end = (error) => {
        if (error instanceof Error) reject(error);
        else resolve();
      };
    });
  }

  stop(): void {
    this.end();
  }

  abandon(): void {
    this.hangingIn = undefined;
    this.end(new LeaseLostError(this.lane));
  }

  readonly state = { work: { notify: (): void => undefined } };
}

describe('LaneHolder', () => {
  let clock: TestClock;
  let store: MemoryLaneStore;
  let observed: string[];
  let runner: TestRunner;
  let followers: TestRunner[];
  let consuming: string[];
  let workers: number;

  beforeEach(() => {
    workers = 1;
    clock = new TestClock();
    store = new MemoryLaneStore(() => clock.now());
    observed = [];
    followers = [];
    consuming = [];
    runner = new TestRunner(LANE, true);
  });

  function aProcess(processId: string, own: readonly TestRunner[] = [runner]): LaneHolder {
    const observer = recordingObserver(observed);
    const worker = new ChainWorker({
      chainId: CHAIN_ID,
      queue: store.queue,
      endings: store.endings,
      heads: { start: () => undefined, stop: () => Promise.resolve() } as never,
      jobs: {
        start: () => consuming.push('start'),
        pause: () => Promise.resolve(void consuming.push('pause')),
        stop: () => Promise.resolve(void consuming.push('stop')),
        finished: () => undefined,
      },
      parked: { round: () => Promise.resolve() } as never,
      observer,
      lanes: own as unknown as LaneRunner[],
      follow: (lane) => {
        const follower = new TestRunner(lane, false);
        followers.push(follower);
        return follower as unknown as LaneRunner;
      },
    });
    return new LaneHolder({
      leases: store.leases,
      workers: [worker],
      processId,
      leaseMs: LEASE_MS,
      countWorkers: () => Promise.resolve(workers),
      observer,
    });
  }

  it('takes a free lane, and reads the queue of its chain while it holds it', async () => {
    const leases = aProcess('p1');
    await leases.acquireFree();
    expect(leases.heldLanes).toEqual([LANE]);
    expect(runner.runs).toHaveLength(1);
    expect(consuming).toEqual(['start']);
  });

  it('is stopped while it acquires a lane: the lane is free for others at once', async () => {
    const leases = aProcess('p1');
    const { acquire } = store.leases;
    store.leases.acquire = async (...args) => {
      const held = await acquire.apply(store.leases, args);
      await leases.stop();
      return held;
    };
    await leases.acquireFree();
    expect(runner.runs).toEqual([]);
    store.leases.acquire = acquire;
    expect(await store.leases.acquire(LANE, CHAIN_ID, 'p2', LEASE_MS)).toBeDefined();
  });

  it('hands its lanes over when it stops', async () => {
    const leases = aProcess('p1');
    await leases.acquireFree();
    await leases.stop();
    expect(await store.leases.acquire(LANE, CHAIN_ID, 'p2', LEASE_MS)).toBeDefined();
  });

  it('has stopped for all that ask once its lanes are handed over', async () => {
    const leases = aProcess('p1');
    await leases.acquireFree();
    runner.stop = () => undefined;
    const ended: string[] = [];
    const first = leases.stop().then(() => ended.push('first'));
    const second = leases.stop().then(() => ended.push('second'));
    await turns();
    expect(ended).toEqual([]);
    runner.end();
    await Promise.all([first, second]);
    expect(await store.leases.acquire(LANE, CHAIN_ID, 'p2', LEASE_MS)).toBeDefined();
  });

  it('says of a lane that it takes over from whom, and of no other', async () => {
    const held = await store.leases.acquire(LANE, CHAIN_ID, 'p0', LEASE_MS);
    if (held === undefined) throw new Error('the lane is not free');
    await clock.pass(LEASE_MS + 1);
    const leases = aProcess('p1');
    await leases.acquireFree();
    expect(observed).toContain('takenOver');
    await leases.stop();
    observed.length = 0;
    await aProcess('p2').acquireFree();
    expect(observed).not.toContain('takenOver');
  });

  it('stops a lane whose lease it could not keep', async () => {
    const leases = aProcess('p1');
    await leases.acquireFree();
    await clock.pass(LEASE_MS + 1);
    await store.leases.acquire(LANE, CHAIN_ID, 'p2', LEASE_MS);
    await leases.renewHeld();
    await turns();
    expect(leases.heldLanes).toEqual([]);
    await leases.acquireFree();
    expect(leases.heldLanes).toEqual([]);
  });

  it('goes on with a lane that it acquired again when a renewal of its former lease is refused late', async () => {
    const leases = aProcess('p1');
    await leases.acquireFree();
    const { renew } = store.leases;
    let refuse: (error: Error) => void = () => undefined;
    store.leases.renew = () =>
      new Promise((_, reject) => {
        refuse = reject;
      });
    const renewing = leases.renewHeld();
    runner.end(new LeaseLostError(LANE));
    await turns();
    await leases.acquireFree();
    expect(runner.runs).toHaveLength(2);
    const stops = jest.spyOn(runner, 'stop');
    refuse(new LeaseLostError(LANE));
    await renewing;
    expect(stops).not.toHaveBeenCalled();
    expect(leases.heldLanes).toEqual([LANE]);
    store.leases.renew = renew;
  });

  describe('when a process comes that can work on the same lanes', () => {
    const OTHER_LANE = `${CHAIN_ID}:0x00000000000000000000000000000000000000bb`;
    const bothLanes = (): TestRunner[] => [
      new TestRunner(LANE, true),
      new TestRunner(OTHER_LANE, true),
    ];

    it('hands over what is above its share', async () => {
      const first = aProcess('p1', bothLanes());
      const second = aProcess('p2', bothLanes());
      await first.acquireFree();
      expect(first.heldLanes).toEqual([LANE, OTHER_LANE]);
      workers = 2;
      await first.shareOut();
      await turns();
      await first.acquireFree();
      await second.acquireFree();
      expect(first.heldLanes).toEqual([LANE]);
      expect(second.heldLanes).toEqual([OTHER_LANE]);
    });

    it('takes back what the other does not take, and keeps it', async () => {
      const first = aProcess('p1', bothLanes());
      await first.acquireFree();
      workers = 2;
      await first.shareOut();
      await turns();
      for (let round = 0; round <= 4; round += 1) await first.acquireFree();
      expect(first.heldLanes).toEqual([LANE, OTHER_LANE]);
      await first.shareOut();
      await turns();
      expect(first.heldLanes).toEqual([LANE, OTHER_LANE]);
    });

    it('keeps its only lane', async () => {
      const leases = aProcess('p1');
      await leases.acquireFree();
      workers = 3;
      await leases.shareOut();
      await turns();
      expect(leases.heldLanes).toEqual([LANE]);
    });
  });

  it('gives the lease of a lane up whose work does not come round, says so once, and others can take it', async () => {
    const leases = aProcess('p1');
    await leases.acquireFree();
    runner.hangingIn = 'sending';
    await leases.renewHeld();
    await turns();
    expect(observed.filter((one) => one === 'failed')).toHaveLength(1);
    expect(leases.heldLanes).toEqual([]);
    expect(await store.leases.acquire(LANE, CHAIN_ID, 'p2', LEASE_MS)).toBeDefined();
  });

  it('says once that a lane has been resyncing for long, and again when it happens once more', async () => {
    const leases = aProcess('p1');
    await leases.acquireFree();
    for (const ms of [30_000, 30_001, 31_000, 0, 40_000]) {
      runner.resyncingMs = ms;
      await leases.renewHeld();
    }
    expect(observed.filter((one) => one === 'failed')).toHaveLength(2);
    expect(leases.heldLanes).toEqual([LANE]);
  });

  it('acquires its lane again when the ledger went back', async () => {
    const leases = aProcess('p1');
    const goBack = store.snapshot();
    await leases.acquireFree();
    goBack();
    runner.end(new LedgerEpochChangedError('a step'));
    await turns();
    await leases.acquireFree();
    expect(runner.runs).toHaveLength(2);
    expect(runner.runs[1]?.epoch).not.toBe(runner.runs[0]?.epoch);
  });

  it('a bug in what it asks for is reported, and does not end it', async () => {
    const leases = aProcess('p1');
    store.leases.acquire = () => Promise.reject(new TypeError('a bug'));
    await leases.acquireFree();
    expect(observed).toContain('failed');
  });

  describe('a lane whose key was taken out while its transactions are on their way', () => {
    const attempt: Attempt = {
      accountNonce: 0,
      kind: 'noop',
      settlementIds: [],
      transactions: [],
      allocatedAtBlock: 1n,
    };

    beforeEach(async () => {
      const held = await store.leases.acquire(LANE, CHAIN_ID, 'gone', LEASE_MS);
      if (held === undefined) throw new Error('not free');
      await store.leases.setNext(held, undefined, 1);
      const day = '2026-11-21';
      const budget = { costGwei: 1n, laneGwei: undefined, payeeGwei: undefined, day };
      await store.attempts.fillGap(held, attempt, budget);
      await clock.pass(LEASE_MS + 1);
    });

    it('is followed by any worker of its chain', async () => {
      const leases = aProcess('p2', []);
      await leases.adoptOrphans();
      expect(leases.heldLanes).toEqual([LANE]);
      expect(followers.map(({ lane }) => lane)).toEqual([LANE]);
      // It has no lane that can send: the jobs go to those who have.
      expect(consuming).toEqual([]);
    });

    it('by one of them', async () => {
      await aProcess('p2', []).adoptOrphans();
      const other = aProcess('p3', []);
      await other.adoptOrphans();
      expect(other.heldLanes).toEqual([]);
    });

    it('until nothing of it is left', async () => {
      const leases = aProcess('p2', []);
      await leases.adoptOrphans();
      followers[0]?.end();
      await turns();
      expect(leases.heldLanes).toEqual([]);
      expect(await store.leases.acquire(LANE, CHAIN_ID, 'p3', LEASE_MS)).toBeDefined();
    });
  });
});
