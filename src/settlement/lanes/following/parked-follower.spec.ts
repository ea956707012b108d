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
import { assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import type { Ending, Parking } from '../../ledger/lane-store.js';
import { ParkedFollower } from './parked-follower.js';

describe('ParkedFollower', () => {
  let clock: TestClock;
  let chain: TestChain;
  let store: MemoryLaneStore;
  let follower: ParkedFollower;
  let reported: string[];
  let finished: string[];
  let suspected: string[];

  beforeEach(async () => {
    clock = new TestClock();
    chain = new TestChain();
    store = new MemoryLaneStore(() => clock.now());
    reported = [];
    finished = [];
    suspected = [];
    follower = new ParkedFollower({
      chainId: CHAIN_ID,
      endings: store.endings,
      assetSuspensions: { noteWithoutEvidence: (asset) => suspected.push(asset) },
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

  async function park(
    id: string,
    { why = 'state_unreadable', failed }: Partial<Parking> = {},
  ): Promise<void> {
    const held = await store.leases.acquire(LANE, CHAIN_ID, 'p', 1e9);
    if (held === undefined) throw new Error('the lane is not free');
    store.claims.claim(id, aPayment(1));
    await store.queue.ready(CHAIN_ID, [id]);
    await store.queue.take(held, 1);
    const parking = { id, why, retryAtMs: clock.now(), ...(failed && { failed }) };
    await store.endings.park(held, undefined, 5n, [parking]);
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

  describe('one whose own transaction failed', () => {
    const failed = {
      transaction: `0x${'01'.repeat(32)}`,
      blockNumber: 7n,
      blockHash: `0x${'b1'.repeat(32)}`,
      isSuccess: false,
    } as const;
    const { from: payer } = aPayment(1).authorization;
    const asset = assetNameOf(aPayment(1));
    const reverted = { id: 'b', state: 'reverted', isPaid: false } as const;

    async function blamedFor(parking: Partial<Parking>, ending: Ending): Promise<unknown> {
      await park('b', parking);
      chain.verdicts.set('a', { kind: 'waiting' });
      chain.verdicts.set('b', { kind: 'ended', ending });
      await rounds(2);
      expect(store.claims.stateOf('b')).toBe(ending.state);
      return [[...store.reverts], suspected];
    }

    it.each<[string, Partial<Parking>, Ending, unknown]>([
      [
        'ends reverted: its payer is blamed',
        { why: 'search_failed', failed },
        reverted,
        [[[payer, 1]], []],
      ],
      [
        'ends reverted by a cause that the chain shows: that is blamed in place of all suspects',
        { why: 'search_failed', failed },
        { ...reverted, blamed: ['a payer'] },
        [[['a payer', 1]], []],
      ],
      [
        'succeeded without paying: its asset is blamed, too',
        { why: 'search_failed', failed: { ...failed, isSuccess: true } },
        reverted,
        [[[payer, 1]], [asset]],
      ],
      [
        'was blamed at parking, as its token hid the outcome: not twice',
        { why: 'state_unreadable', failed: { ...failed, isSuccess: true } },
        reverted,
        [[], []],
      ],
      [
        'was paid by a copy: its payer is not blamed',
        { why: 'search_failed', failed },
        { ...reverted, state: 'foreign', isPaid: true },
        [[], []],
      ],
      [
        'was one of a batch, which blames no payer at parking',
        { why: 'state_unreadable' },
        reverted,
        [[[payer, 1]], []],
      ],
    ])('%s', async (_, parking, ending, expected) => {
      expect(await blamedFor(parking, ending)).toEqual(expected);
    });
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
