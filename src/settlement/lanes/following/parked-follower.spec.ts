import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../../../test/builders/platform/concurrency/clock.js';
import {
  aPayment,
  CHAIN_ID,
  LANE,
  recordingObserver,
  TestChain,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import { MemoryLaneStore } from '../../../../test/twins/settlement/ledger/memory-lane-store.js';
import { ParkedFollower } from './parked-follower.js';

describe('ParkedFollower', () => {
  let clock: TestClock;
  let chain: TestChain;
  let store: MemoryLaneStore;
  let follower: ParkedFollower;
  let reported: string[];
  let finished: string[];

  beforeEach(async () => {
    clock = new TestClock();
    chain = new TestChain();
    store = new MemoryLaneStore(() => clock.now());
    reported = [];
    finished = [];
    follower = new ParkedFollower({
      chainId: CHAIN_ID,
      endings: store.endings,
      heads: { current: chain.head } as never,
      resolver: chain,
      events: {
        finished: (ids) => {
          finished.push(...ids);
        },
        conditionChanged: () => undefined,
      },
      observer: recordingObserver(reported),
      clock,
    });
    await park('a');
  });

  async function park(id: string): Promise<void> {
    const held = await store.leases.acquire(LANE, CHAIN_ID, 'p', 1e9);
    if (held === undefined) throw new Error('the lane is not free');
    store.claims.claim(id, aPayment(1));
    await store.queue.ready(CHAIN_ID, [id]);
    await store.queue.take(held, 1);
    const why = 'state_unreadable';
    await store.endings.park(held, undefined, 5n, [{ id, why, retryAtMs: clock.now() }]);
  }

  async function rounds(count: number): Promise<void> {
    for (let round = 0; round < count; round += 1) {
      await follower.round();
      await clock.pass(1000);
    }
  }

  it('ends a settlement whose outcome is known at last', async () => {
    const ending = { id: 'a', state: 'foreign', isPaid: true } as const;
    chain.verdicts.set('a', { kind: 'ended', ending });
    await rounds(2);
    expect(store.claims.stateOf('a')).toBe('foreign');
    expect(finished).toEqual(['a']);
    expect(reported).toContain('ended');
  });

  it('sends again what is unused', async () => {
    chain.verdicts.set('a', { kind: 'requeue' });
    await rounds(2);
    expect(store.claims.stageOf('a')).toBe('ready');
  });

  it('waits for a search, and asks again what it found', async () => {
    chain.verdicts.set('a', { kind: 'searching' });
    await rounds(5);
    expect(store.claims.stageOf('a')).toBe('parked');
    chain.verdicts.set('a', {
      kind: 'ended',
      ending: { id: 'a', state: 'foreign', isPaid: false },
    });
    await rounds(2);
    expect(store.claims.stateOf('a')).toBe('foreign');
  });

  it.each(['hangs', 'fails'] as const)('asks less and less often while it %s', async (verdict) => {
    chain.verdicts.set('a', verdict);
    await rounds(400);
    const asked = chain.asked.length;
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(8);
    expect(store.claims.stageOf('a')).toBe('parked');
  });
});
