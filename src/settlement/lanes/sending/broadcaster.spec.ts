import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import { TestClock, turns } from '../../../../test/builders/platform/concurrency/clock.js';
import {
  aPayment,
  CHAIN_ID,
  GWEI,
  LANE,
  recordingObserver,
  SIGNER,
  TestChain,
} from '../../../../test/builders/settlement/lanes/lane-world.js';
import { MemoryLaneStore } from '../../../../test/twins/settlement/ledger/memory-lane-store.js';
import type { SendResult } from '../../../platform/chain/rpc/rpc-classes.js';
import { RedisUnavailableError } from '../../../protocol/errors.js';
import { aggregateCall, withSuffix } from '../../../protocol/evm/calls.js';
import { callOf } from '../../../protocol/payment/payment-facts.js';
import type { GasBudget, HeldLane, TakenSettlement } from '../../ledger/lane-store.js';
import type { SignedTransaction } from '../../model/attempt.js';
import type { TransactionOrder } from '../ports.js';
import type { TrackedAttempt } from '../state/tracked-attempt.js';
import { Broadcaster } from './broadcaster.js';
import type { DailyBudgets, Replaced } from './send-results.js';

const GAS = 100_000n;
const OTHER_PAYEE: Address = `0x${'77'.repeat(20)}`;
const UNDERPRICED: SendResult = { kind: 'underpriced', leastTipWei: undefined };

/** The bytes that leave the process for the nodes, and what is stored before. */
describe('Broadcaster', () => {
  let clock: TestClock;
  let chain: TestChain;
  let store: MemoryLaneStore;
  let observed: string[];
  let orders: TransactionOrder[];
  let budgets: { laneWei: bigint | undefined; payeeWei: bigint | undefined };
  let broadcaster: Broadcaster;
  let batchSuffix: Hex | undefined;
  let canSign: boolean;
  let held: HeldLane;

  beforeEach(async () => {
    clock = new TestClock();
    chain = new TestChain();
    store = new MemoryLaneStore(() => clock.now());
    observed = [];
    orders = [];
    budgets = { laneWei: undefined, payeeWei: undefined };
    batchSuffix = undefined;
    canSign = true;
    broadcaster = aBroadcaster(true);
    const lane = await store.leases.acquire(LANE, CHAIN_ID, 'p1', 600_000);
    if (lane === undefined) throw new Error('not free');
    held = lane;
    await store.leases.setNext(held, undefined, 0);
  });

  function aBroadcaster(hasKey: boolean): Broadcaster {
    const signer = {
      address: SIGNER,
      isAvailable: true,
      noop: { to: SIGNER, data: '0x' as const },
      sign: async (order: TransactionOrder): Promise<SignedTransaction | undefined> => {
        await Promise.resolve();
        if (!canSign) return undefined;
        orders.push(order);
        const { gas, fees, isNoop } = order;
        const hash: Hex = `0x${orders.length.toString(16).padStart(64, '0')}`;
        return { hash, raw: `${hash}02` as const, gas, isNoop, signedAt: clock.now(), ...fees };
      },
    };
    return new Broadcaster({
      chain,
      attempts: store.attempts,
      clock,
      observer: recordingObserver(observed),
      budgets: budgets satisfies DailyBudgets,
      fees: chain.fees,
      signer: hasKey ? signer : undefined,
      batchSuffix,
    });
  }

  const payeeOf = (id: string): Address | undefined => (id === 'other' ? OTHER_PAYEE : undefined);

  async function taken(...ids: readonly string[]): Promise<readonly TakenSettlement[]> {
    ids.forEach((id, index) => {
      const payTo = payeeOf(id);
      store.claims.claim(id, aPayment(index + 1, payTo && { payTo }));
    });
    await store.queue.ready(CHAIN_ID, ids);
    return store.queue.take(held, ids.length);
  }

  const send = (
    items: readonly TakenSettlement[],
    { accountNonce = 0, gas = GAS, blockNumber = 100n } = {},
  ) => {
    const group = { items, gas };
    return broadcaster.send(held, { accountNonce, group, head: chain.head, blockNumber });
  };

  async function sent(...ids: readonly string[]): Promise<TrackedAttempt> {
    const answer = await send(await taken(...ids));
    if (answer.kind !== 'sent') throw new Error(answer.kind);
    await turns();
    return answer.tracked;
  }

  const stored = () => store.attemptsOf(LANE).map(({ transactions }) => transactions.length);

  describe('sends', () => {
    it('nothing that is not stored with its nonce by then', async () => {
      let known: readonly Hex[] = [];
      chain.broadcast = (raw) => {
        chain.sent.push(raw);
        known = store
          .attemptsOf(LANE)
          .flatMap(({ transactions }) => transactions.map((t) => t.raw));
        return Promise.resolve([{ kind: 'accepted' }]);
      };
      await sent('a');
      expect(chain.sent).toHaveLength(1);
      expect(known).toEqual(chain.sent);
      expect(observed).toEqual(['sent', 'broadcast:56']);
    });

    it('nothing while the key does not sign, and takes no nonce for it', async () => {
      const items = await taken('a');
      canSign = false;
      expect(await send(items)).toEqual({ kind: 'no_signature' });
      expect([stored(), chain.sent, observed]).toEqual([[], [], []]);
      canSign = true;
      expect(await send(items)).toMatchObject({ kind: 'sent', tracked: { accountNonce: 0 } });
    });

    it('one payment as its own call, and several through one', async () => {
      const one = await sent('a');
      expect(orders[0]?.call).toEqual(callOf(aPayment(1)));
      expect([one.attempt.kind, orders[0]?.isNoop, orders[0]?.gas]).toEqual(['single', false, GAS]);
      const answer = await send(await taken('b', 'c'), { accountNonce: 1 });
      expect(orders[1]?.call).toEqual(aggregateCall([callOf(aPayment(1)), callOf(aPayment(2))]));
      expect(answer).toMatchObject({
        tracked: { attempt: { kind: 'batch', settlementIds: ['b', 'c'] } },
      });
    });

    it('what a payment ends with behind its own call, and the code of this service behind a batch', async () => {
      batchSuffix = '0x0b0b';
      broadcaster = aBroadcaster(true);
      const [first, second] = ['0x0a01', '0x0a02'] as const;
      store.claims.claim('a', aPayment(1, { dataSuffix: first }));
      store.claims.claim('b', aPayment(2, { dataSuffix: second }));
      await store.queue.ready(CHAIN_ID, ['a', 'b']);
      const items = await store.queue.take(held, 2);
      const [call, other] = [callOf(aPayment(1)), callOf(aPayment(2))].map((one, index) =>
        withSuffix(one, index === 0 ? first : second),
      );
      if (call === undefined || other === undefined) throw new Error('no call');
      const batch = withSuffix(aggregateCall([call, other]), batchSuffix);
      const answer = await send(items);
      if (answer.kind !== 'sent') throw new Error(answer.kind);
      expect(await broadcaster.bumpFees(held, answer.tracked, chain.head)).toBe('replaced');
      expect(orders.map((order) => order.call)).toEqual([batch, batch]);
      // One that goes alone has nothing but its own.
      await send(items.slice(0, 1), { accountNonce: 1 });
      expect(orders[2]?.call).toEqual(call);
    });

    it('and says when: at the newest block that two nodes have, beside one that only one has shown', async () => {
      chain.latest = 107n;
      const answer = await send(await taken('a'), { blockNumber: 107n });
      if (answer.kind !== 'sent') throw new Error(answer.kind);
      expect(answer.tracked.attempt).toMatchObject({ allocatedAtBlock: 107n });
      expect(answer.tracked.attempt).not.toHaveProperty('newestBlock');
      chain.behind = 2n;
      const second = await send(await taken('b'), { accountNonce: 1, blockNumber: 107n });
      expect(second).toMatchObject({
        tracked: {
          attempt: {
            allocatedAtBlock: 105n,
            newestBlock: { number: 107n, hash: chain.blockHash(107n) },
          },
        },
      });
    });

    it('and says when: at the block it was judged at, while no node has shown one lately', async () => {
      chain.latest = 0n;
      const answer = await send(await taken('a'), { blockNumber: 105n });
      expect(answer).toMatchObject({ tracked: { attempt: { allocatedAtBlock: 105n } } });
    });

    it('within the budget by the most that it may cost, rounded up, on the day of its nonce', async () => {
      budgets.laneWei = 5_000_000_000n;
      const asked: GasBudget[] = [];
      const { allocate } = store.attempts;
      store.attempts.allocate = (lane, attempt, budget) => {
        asked.push(budget);
        return allocate.call(store.attempts, lane, attempt, budget);
      };
      chain.market = { ...chain.market, suggestedTip: 1n };
      await send(await taken('a'), { gas: 1_000_000_001n });
      const day = new Date(clock.now()).toISOString().slice(0, 10);
      expect(asked).toEqual([{ costGwei: 2n, laneGwei: 5n, payeeGwei: undefined, day }]);
    });
  });

  describe('sends nothing, and stores nothing,', () => {
    it.each<[string, () => void, object, { readonly accountNonce?: number }]>([
      [
        'while the price of gas is above the cap',
        () => (chain.market = { ...chain.market, leastTip: 11n * GWEI }),
        { kind: 'price_cap' },
        {},
      ],
      ['where it has no key', () => (broadcaster = aBroadcaster(false)), { kind: 'price_cap' }, {}],
      ['while the lane is paused', () => store.paused.add(LANE), { kind: 'paused' }, {}],
      [
        'with another nonce than the ledger has',
        () => undefined,
        { kind: 'nonce' },
        { accountNonce: 3 },
      ],
      [
        'when the requester left meanwhile',
        () => store.claims.withdraw('other'),
        { kind: 'gone', ids: ['other'] },
        {},
      ],
      [
        'above the budget of the lane',
        () => (budgets.laneWei = 99_999n * GWEI),
        { kind: 'budget', subject: 'lane' },
        {},
      ],
      [
        'above the budget of a payee',
        () => (budgets.payeeWei = 40_000n * GWEI),
        { kind: 'budget' },
        {},
      ],
    ])('%s', async (_, change, expected, order) => {
      const items = await taken('a', 'other');
      change();
      expect(await send(items, order)).toMatchObject(expected);
      await turns();
      expect([chain.sent, stored(), observed]).toEqual([[], [], []]);
    });

    it('when the answer of the ledger is lost: what it did is read from it later', async () => {
      const items = await taken('a');
      store.attempts.allocate = () =>
        Promise.reject(new RedisUnavailableError('allocate', undefined));
      await expect(send(items)).rejects.toThrow(RedisUnavailableError);
      expect([chain.sent, observed]).toEqual([[], []]);
    });
  });

  describe('what nodes answer', () => {
    it.each<[string, readonly SendResult[], Partial<TrackedAttempt>]>([
      ['one has it', [{ kind: 'accepted' }], { isTaken: true, refusal: undefined }],
      [
        'one had it',
        [{ kind: 'already_known' }, UNDERPRICED],
        { isTaken: true, refusal: undefined },
      ],
      ['it is too cheap', [UNDERPRICED, { kind: 'unknown' }], { isTaken: false, refusal: 'price' }],
      ['it is not to be had', [{ kind: 'rejected' }], { isTaken: false, refusal: 'bytes' }],
      ['nothing at all', [{ kind: 'unknown' }], { isTaken: false, refusal: undefined }],
      [
        'its nonce is used',
        [{ kind: 'nonce_too_low' }],
        { isTaken: false, isNonceReportedUsed: true },
      ],
    ])('%s: it decides nothing', async (_, results, expected) => {
      chain.sendResults = results;
      const tracked = await sent('a');
      expect(tracked).toMatchObject(expected);
      expect(store.claims.stateOf('a')).toBe('broadcast');
    });

    it('meets an unexpected error: it is reported, and the attempt is in flight', async () => {
      chain.broadcast = () => Promise.reject(new TypeError('a fault'));
      const tracked = await sent('a');
      expect([tracked.isTaken, tracked.refusal]).toEqual([false, undefined]);
      expect(observed).toContain('failed');
      expect(stored()).toEqual([1]);
    });

    it.each<[string, SendResult, Partial<TrackedAttempt>]>([
      ['one has the bytes', { kind: 'accepted' }, { isTaken: true }],
      ['one says that the nonce is used', { kind: 'nonce_too_low' }, { isNonceReportedUsed: true }],
      ['one refuses the bytes', { kind: 'rejected' }, { refusal: undefined, isTaken: false }],
    ])(
      '%s, and another has not answered: only a refusal waits for it',
      async (_, first, expected) => {
        let answer: (results: readonly SendResult[]) => void = () => undefined;
        chain.broadcast = (_raw, onResult) => {
          onResult?.(first);
          return new Promise((resolve) => (answer = resolve));
        };
        const tracked = await sent('a');
        expect(tracked).toMatchObject(expected);
        answer([first, { kind: 'unknown' }]);
        await turns();
        expect(tracked.refusal).toBe(first.kind === 'rejected' ? 'bytes' : undefined);
      },
    );

    it('comes after another transaction took its place: it says nothing of that one', async () => {
      let answer: (results: readonly SendResult[]) => void = () => undefined;
      const { broadcast } = chain;
      chain.broadcast = () => new Promise((resolve) => (answer = resolve));
      const tracked = await sent('a');
      chain.broadcast = broadcast.bind(chain);
      await broadcaster.bumpFees(held, tracked, chain.head);
      await turns();
      answer([{ kind: 'rejected' }]);
      await turns();
      expect([tracked.refusal, tracked.isTaken]).toEqual([undefined, true]);
    });
  });

  describe('bumps fees', () => {
    const prices = ({ attempt }: TrackedAttempt) => attempt.transactions.map((t) => t.maxFeePerGas);

    it('by an eighth, at the same nonce, with the same call and gas, stored before it is sent', async () => {
      const tracked = await sent('a');
      tracked.refusal = 'price';
      chain.latest += 9n;
      expect(await broadcaster.bumpFees(held, tracked, chain.head)).toBe('replaced');
      const [first, second] = prices(tracked);
      expect((second ?? 0n) * 8n).toBeGreaterThanOrEqual((first ?? 0n) * 9n);
      const same = ({ call, accountNonce, gas }: TransactionOrder) => ({ call, accountNonce, gas });
      expect(orders.map(same)[1]).toEqual(orders.map(same)[0]);
      expect(stored()).toEqual([2]);
      expect([tracked.pricedAtBlock, tracked.sentAtBlock, tracked.refusal]).toEqual([
        109n,
        109n,
        undefined,
      ]);
      expect(store.claims.hashesOf('a')).toHaveLength(2);
    });

    it.each<[string, readonly string[], readonly string[], boolean]>([
      ['a batch with all that it carries', [], ['a', 'b'], false],
      ['a batch of which one is left, as the batch it was', ['a'], ['b'], false],
      ['a batch of which nothing is left by a no-op', ['a', 'b'], [], true],
    ])('%s', async (_, ended, left, isNoop) => {
      const tracked = await sent('a', 'b');
      const payments = new Map(tracked.payments);
      for (const id of ended) tracked.payments.delete(id);
      const replaced = await broadcaster.bumpFees(held, tracked, chain.head);
      expect(replaced).toBe(isNoop ? 'cancelled' : 'replaced');
      const calls = left.flatMap((id) => {
        const payment = payments.get(id);
        return payment === undefined ? [] : [callOf(payment)];
      });
      const expected = isNoop ? { to: SIGNER, data: '0x' } : aggregateCall(calls);
      expect(orders[1]).toMatchObject({ call: expected, isNoop, gas: isNoop ? 21_000n : GAS });
    });

    it('a no-op by a no-op: what was cancelled stays cancelled', async () => {
      const tracked = await sent('a');
      expect(await broadcaster.cancel(held, tracked, chain.head)).toBe('cancelled');
      expect(await broadcaster.bumpFees(held, tracked, chain.head)).toBe('cancelled');
      expect(orders.map(({ isNoop }) => isNoop)).toEqual([false, true, true]);
    });

    it('what the budget does not allow by a no-op, which it does', async () => {
      budgets.laneWei = GAS * GWEI;
      const tracked = await sent('a');
      expect(await broadcaster.bumpFees(held, tracked, chain.head)).toBe('cancelled');
      // The one over the budget was signed, and is neither stored nor sent.
      await turns();
      expect([orders.length, stored(), chain.sent.length]).toEqual([3, [2], 2]);
      expect(tracked.attempt.transactions.at(-1)?.isNoop).toBe(true);
    });

    it.each<[string, boolean, Replaced, number]>([
      ['not at all where a pool has it: the cap leaves no room', true, 'no_room', 1],
      ['for the same where no pool ever had it', false, 'replaced', 2],
    ])('%s', async (_, isTaken, expected, transactions) => {
      const tracked = await sent('a');
      tracked.isTaken = isTaken;
      chain.market = { ...chain.market, cap: GWEI };
      expect(await broadcaster.bumpFees(held, tracked, chain.head)).toBe(expected);
      expect(prices(tracked)).toEqual(Array.from({ length: transactions }, () => GWEI));
      expect(stored()).toEqual([transactions]);
    });

    it('what is urgent by the market for that', async () => {
      const tracked = await sent('a');
      chain.urgent = { suggestedTip: 7n * GWEI };
      await broadcaster.bumpFees(held, tracked, chain.head);
      expect(prices(tracked)).toEqual([GWEI, 7n * GWEI]);
    });

    it('twice as much at most for what one endpoint alone says is urgent', async () => {
      const tracked = await sent('a');
      chain.urgentAlone = { baseFeePerGas: 4n * GWEI };
      await broadcaster.bumpFees(held, tracked, chain.head);
      expect(prices(tracked)).toEqual([GWEI, 2n * GWEI]);
    });

    it('a cancelled one for twice as much at most, whatever all endpoints say', async () => {
      const tracked = await sent('a');
      chain.urgent = { suggestedTip: 7n * GWEI };
      await broadcaster.cancel(held, tracked, chain.head);
      expect(prices(tracked)).toEqual([GWEI, 2n * GWEI]);
    });

    it.each(['bumpFees', 'cancel'] as const)(
      'nothing while the key does not sign: what was stored keeps its chance (%s)',
      async (how) => {
        const tracked = await sent('a');
        canSign = false;
        expect(await broadcaster[how](held, tracked, chain.head)).toBe('no_signature');
        expect([stored(), chain.sent.length]).toEqual([[1], 1]);
      },
    );

    it.each(['bumpFees', 'cancel'] as const)('nothing without the key (%s)', async (how) => {
      const tracked = await sent('a');
      const follower = aBroadcaster(false);
      expect([follower.hasKey, broadcaster.hasKey]).toEqual([false, true]);
      expect(await follower[how](held, tracked, chain.head)).toBe('no_key');
      expect(stored()).toEqual([1]);
    });

    it.each(['bumpFees', 'cancel'] as const)(
      'and sends nothing when the ledger does not answer (%s): it may be stored, or not',
      async (how) => {
        const tracked = await sent('a');
        const { attempt } = tracked;
        store.attempts.replace = () =>
          Promise.reject(new RedisUnavailableError('replace', undefined));
        await expect(broadcaster[how](held, tracked, chain.head)).rejects.toThrow(
          RedisUnavailableError,
        );
        await turns();
        expect(tracked.attempt).toBe(attempt);
        expect(chain.sent).toHaveLength(1);
      },
    );

    it('and cancels nothing that no budget has room for', async () => {
      const tracked = await sent('a');
      store.attempts.replace = () => Promise.resolve({ kind: 'budget', subject: 'lane' });
      expect(await broadcaster.cancel(held, tracked, chain.head)).toBe('no_room');
      expect(tracked.attempt.transactions).toHaveLength(1);
    });
  });

  describe('fills a gap', () => {
    beforeEach(() => store.leases.setNext(held, 0, 2));

    it('by a transfer of nothing to itself that settles nothing', async () => {
      const filler = await broadcaster.fillGap(held, 1, chain.head);
      await turns();
      expect(orders).toMatchObject([
        { accountNonce: 1, gas: 21_000n, isNoop: true, call: { to: SIGNER, data: '0x' } },
      ]);
      expect(filler?.attempt).toMatchObject({ kind: 'noop', settlementIds: [] });
      expect([filler?.payments.size, chain.sent.length]).toEqual([0, 1]);
    });

    it.each<[string, number, () => unknown]>([
      ['a nonce that was never given out', 2, () => undefined],
      ['one that something is stored of', 1, () => broadcaster.fillGap(held, 1, chain.head)],
      ['above the budget of the lane', 1, () => (budgets.laneWei = 20_999n * GWEI)],
      [
        'while the price of gas is above the cap',
        1,
        () => (chain.market = { ...chain.market, leastTip: 11n * GWEI }),
      ],
      ['without the key', 1, () => (broadcaster = aBroadcaster(false))],
    ])('never: %s', async (_, nonce, change) => {
      await change();
      await turns();
      const before = chain.sent.length;
      expect(await broadcaster.fillGap(held, nonce, chain.head)).toBeUndefined();
      await turns();
      expect(chain.sent).toHaveLength(before);
    });
  });
});
