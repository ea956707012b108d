import { expect, it } from '@jest/globals';
import { TestClock, turns } from '../../../test/builders/platform/concurrency/clock.js';
import {
  CHAIN_ID,
  LANE,
  recordingObserver,
  SIGNER,
  TestChain,
  TestSigner,
} from '../../../test/builders/settlement/lanes/lane-world.js';
import { MemoryLaneStore } from '../../../test/twins/settlement/ledger/memory-lane-store.js';
import { LeaseLostError } from '../../protocol/errors.js';
import type { HeldLane } from '../ledger/lane-store.js';
import { HANGS_AFTER_MS, LaneRunner } from './lane-runner.js';
import { ChannelsInFlight } from './sending/channels-in-flight.js';

const LEASE_MS = 10 * HANGS_AFTER_MS;

function aRunner(
  clock: TestClock,
  { leases, queue, attempts, endings }: MemoryLaneStore,
): LaneRunner {
  const chain = new TestChain();
  return new LaneRunner({
    lane: LANE,
    address: SIGNER,
    chain,
    leases,
    queue,
    attempts,
    endings,
    clock,
    signer: new TestSigner(clock),
    reader: chain,
    resolver: chain,
    heads: {
      get current() {
        return chain.head;
      },
      onHead: () => () => undefined,
      look: () => undefined,
      lookIfIdle: () => undefined,
    },
    fees: chain.fees,
    gasEstimates: { typical: 100_000n, raise: () => undefined },
    suspensions: { noteRevert: () => undefined, isSuspended: () => false },
    assetSuspensions: { suspended: [], noteWithoutEvidence: () => undefined },
    channels: new ChannelsInFlight(() => []),
    budgets: { laneWei: undefined, payeeWei: undefined },
    preparationReader: undefined,
    events: { finished: () => undefined, conditionChanged: () => undefined },
    observer: recordingObserver([]),
    simulatorFor: () => ({
      hasDecided: false,
      clear: () => undefined,
      preflight: () => Promise.resolve([]),
    }),
    processId: 'p1',
    windowMax: 64,
    isRetiring: false,
    headMaxAgeMs: 0,
    batchRules: { maxItems: 32, safeAssets: new Set(), optOut: new Set() },
  });
}

it('a lane whose step is never answered can be given up, and acquired again by the same process', async () => {
  const clock = new TestClock();
  const store = new MemoryLaneStore(() => clock.now());
  const runner = aRunner(clock, store);
  const acquire = async (): Promise<HeldLane> => {
    const held = await store.leases.acquire(LANE, CHAIN_ID, 'p1', LEASE_MS);
    if (held === undefined) throw new Error('the lane is not free');
    return held;
  };
  const comeRound = async (): Promise<void> => {
    runner.state.changed.notify();
    runner.state.work.notify();
    await turns();
  };
  const taking: string[] = [];
  let answer: () => void = () => undefined;
  store.queue.take = ({ lease }) => {
    taking.push(lease);
    return new Promise((resolve) => {
      answer = () => {
        resolve([]);
      };
    });
  };
  const first = await acquire();
  const running = runner.run(first);
  await turns();
  await comeRound();
  expect(taking).toEqual([first.lease]);
  await clock.pass(HANGS_AFTER_MS);
  await comeRound();
  expect(runner.hangingIn).toBeUndefined();
  await clock.pass(1);
  await comeRound();
  expect(runner.hangingIn).toBe('sending');
  await store.leases.release(first);
  runner.abandon();
  await expect(running).rejects.toThrow(LeaseLostError);
  const late = answer;
  const second = await acquire();
  const again = runner.run(second);
  await turns();
  await comeRound();
  expect(runner.hangingIn).toBeUndefined();
  // What hung goes on at last, and does nothing any more.
  late();
  await turns();
  await comeRound();
  expect(taking).toEqual([first.lease, second.lease]);
  runner.stop();
  answer();
  await again;
});
