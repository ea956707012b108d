import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import { LeaseLostError } from '../../../../src/protocol/errors.js';
import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import type {
  AcquiredLane,
  GasBudget,
  HeldLane,
  LaneLedger,
} from '../../../../src/settlement/ledger/lane-store.js';
import type { LaneSwitch } from '../../../../src/settlement/ledger/queries/lane-queries.js';
import type { Attempt, SignedTransaction } from '../../../../src/settlement/model/attempt.js';
import type { SettlementState } from '../../../../src/settlement/model/settlement.js';
import {
  anAcceptedPayment,
  anEip3009Authorization,
  aPermit2Authorization,
} from '../../../builders/protocol/payment/accepted-payment.js';
import { channelMoves } from '../../../builders/protocol/schemes/batch-settlement/authorizations.js';
import {
  anAcceptedUpto,
  anUptoAuthorization,
} from '../../../builders/protocol/schemes/upto/upto.js';

/** A ledger of a test, with what requesters do to it. */
export interface LaneStoreHarness {
  readonly store: LaneLedger;
  /** @returns the id of the claim. */
  claim(payment: AcceptedPayment, options?: { readonly isAsync?: boolean }): Promise<string>;
  /**
   * Acknowledges success to a requester.
   *
   * @param resubmissions - how often it was resubmitted since.
   */
  tell(id: string, resubmissions?: number): Promise<void>;
  stateOf(id: string): Promise<SettlementState | undefined>;
  /** The transaction that a finished claim names. */
  transactionOf(id: string): Promise<Hex | undefined>;
  switch(which: LaneSwitch, lane: string): Promise<void>;
  /** Gwei. */
  spentOn(chainId: number, subject: string, day: string): Promise<bigint>;
  /** The reverts counted against a payer lately. */
  blameOf(chainId: number, payer: Address): Promise<number>;
  /** The writer of a lane shows nothing for so many milliseconds, and its lease ends. */
  silence(lane: string, ms: number): Promise<void>;
}

const CHAIN = 56;
const SIGNER: Address = `0x${'a1'.repeat(20)}`;
const OTHER: Address = `0x${'b1'.repeat(20)}`;
const PAYER: Address = `0x${'c1'.repeat(20)}`;
/** Ids that no claim made, at home there too. */
const [LOST, ANOTHER] = ['Bygone', 'Beyond'];
const DAY = '2026-11-21';
const LEASE_MS = 60_000;
const PAYEE: Hex = `0x${'22'.repeat(20)}`;
const BLOCK = { transaction: hashOf(1), number: 7n, hash: hashOf(0xb) } as const;

function hashOf(n: number): Hex {
  return `0x${n.toString(16).padStart(64, '0')}`;
}

const aTransaction = (n: number, more: Partial<SignedTransaction> = {}): SignedTransaction => ({
  hash: hashOf(n),
  raw: '0x02',
  gas: 100_000n,
  isNoop: false,
  signedAt: 1,
  maxFeePerGas: 1_000_000_000n,
  maxPriorityFeePerGas: 1_000_000_000n,
  ...more,
});

const anAttempt = (accountNonce: number, ids: readonly string[], ...hashes: number[]): Attempt => ({
  accountNonce,
  kind: ids.length > 1 ? 'batch' : 'single',
  settlementIds: ids,
  transactions: hashes.map((n) => aTransaction(n)),
  allocatedAtBlock: 5n,
});

const aBudget = (costGwei: bigint, more: Partial<GasBudget> = {}): GasBudget => ({
  costGwei,
  laneGwei: undefined,
  payeeGwei: undefined,
  day: DAY,
  ...more,
});

/**
 * What every ledger promises to lanes, in memory or in Redis.
 *
 * @param start - an empty ledger.
 */
export function laneStoreContract(name: string, start: () => Promise<LaneStoreHarness>): void {
  describe(`${name} as lanes use it`, () => {
    let harness: LaneStoreHarness;
    let store: LaneLedger;
    let held: HeldLane;
    let payments = 0;
    let lane: string;

    beforeEach(async () => {
      harness = await start();
      ({ store } = harness);
      lane = `${CHAIN}:${SIGNER}`;
      held = await acquire('p1');
      await store.leases.setNext(held, undefined, 0);
    });

    async function acquire(processId: string): Promise<AcquiredLane> {
      const acquired = await store.leases.acquire(lane, CHAIN, processId, LEASE_MS);
      if (acquired === undefined) throw new Error('the lane is not free');
      return acquired;
    }

    function aPayment(more: Partial<AcceptedPayment> = {}): AcceptedPayment {
      payments += 1;
      const nonce = hashOf(0xabc000 + payments);
      return anAcceptedPayment({
        authorization: anEip3009Authorization({ nonce, validBefore: 4_000_000_000n }),
        ...more,
      });
    }

    async function readyOnes(count: number): Promise<string[]> {
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1) ids.push(await harness.claim(aPayment()));
      await store.queue.ready(CHAIN, ids);
      return ids;
    }

    async function takenOnes(count: number): Promise<string[]> {
      const ids = await readyOnes(count);
      await store.queue.take(held, count);
      return ids;
    }

    async function sentOnes(count: number, accountNonce = 0): Promise<string[]> {
      const ids = await takenOnes(count);
      const attempt = anAttempt(accountNonce, ids, 100 + accountNonce);
      expect(await store.attempts.allocate(held, attempt, aBudget(1n))).toEqual({ kind: 'ok' });
      return ids;
    }

    const states = (...ids: string[]) => Promise.all(ids.map((id) => harness.stateOf(id)));

    // -------------------------------------------------------------- leases

    it('gives a lane to one process at a time', async () => {
      expect(await store.leases.acquire(lane, CHAIN, 'p2', LEASE_MS)).toBeUndefined();
      await store.leases.release(held);
      const next = await store.leases.acquire(lane, CHAIN, 'p2', LEASE_MS);
      expect(next?.from).toBeUndefined();
    });

    it('names the process that a lane is taken over from, and since when it was silent', async () => {
      expect((await acquire('p1')).from).toBeUndefined();
      await harness.silence(lane, LEASE_MS + 1);
      const next = await acquire('p2');
      expect(next.from?.processId).toBe('p1');
      expect(next.from?.silentMs).toBeGreaterThan(LEASE_MS);
      expect(next.from?.silentMs).toBeLessThan(2 * LEASE_MS);
      await store.leases.release(next);
      expect((await acquire('p3')).from).toBeUndefined();
    });

    it('refuses every write of a lease that is not held any more', async () => {
      await store.leases.release(held);
      await acquire('p2');
      const [id = ''] = await readyOnes(1);
      const writes: (() => Promise<unknown>)[] = [
        () => store.leases.renew(held, LEASE_MS),
        () => store.leases.open(held),
        () => store.queue.take(held, 1),
        () => store.leases.setNext(held, 0, 5),
        () => store.attempts.allocate(held, anAttempt(0, [id], 1), aBudget(1n)),
        () => store.attempts.replace(held, anAttempt(0, [id], 1), aBudget(1n)),
        () => store.attempts.fillGap(held, anAttempt(0, [], 1), aBudget(1n)),
        () => store.attempts.closeAttempt(held, 0, 0n),
        () => store.attempts.include(held, 0, BLOCK, 1, [{ id, logIndex: 0 }]),
        () => store.attempts.uninclude(held, 0, [id]),
        () => store.endings.finish(held, 0, [{ id, state: 'finalized', isPaid: true }]),
        () => store.endings.requeue(held, 0, 1n, [id]),
        () => store.queue.refuse(held, [{ id, reason: 'no_gas' }]),
        () => store.queue.giveBack(held, [id]),
        () => store.queue.postpone(held, [id], 1),
        () => store.endings.park(held, 0, 1n, [{ id, why: 'search_failed', retryAtMs: 0 }]),
        () => store.leases.restoreAttempts(held, [], 9),
      ];
      for (const write of writes) await expect(write()).rejects.toBeInstanceOf(LeaseLostError);
      expect(await states(id)).toEqual(['queued']);
    });

    it('gives the process that holds a lane another lease, and ends the former one', async () => {
      const again = await acquire('p1');
      await expect(store.leases.renew(held, LEASE_MS)).rejects.toBeInstanceOf(LeaseLostError);
      await store.leases.renew(again, LEASE_MS);
    });

    it('names lanes with attempts that nobody holds', async () => {
      await sentOnes(1);
      expect(await store.leases.orphans(CHAIN, [])).toEqual([]);
      await store.leases.release(held);
      expect(await store.leases.orphans(CHAIN, [])).toEqual([lane]);
      expect(await store.leases.orphans(CHAIN, [lane])).toEqual([]);
      held = await acquire('p2');
      await store.attempts.closeAttempt(held, 0, 0n);
      await store.leases.release(held);
      expect(await store.leases.orphans(CHAIN, [])).toEqual([]);
    });

    // -------------------------------------------------------------- the queue

    it('hands each settlement to one taker', async () => {
      const ids = await readyOnes(3);
      const taken = await store.queue.take(held, 2);
      const rest = await store.queue.take(held, 9);
      expect([...taken, ...rest].map(({ id }) => id).sort()).toEqual([...ids].sort());
      expect(await store.queue.take(held, 9)).toEqual([]);
    });

    it('makes ready once what a job brings twice', async () => {
      const id = await harness.claim(aPayment());
      expect(await store.queue.ready(CHAIN, [id])).toBe(1);
      expect(await store.queue.ready(CHAIN, [id])).toBe(0);
    });

    it('makes nothing ready for a job of another ledger, or of one that is further on', async () => {
      const [taken = ''] = await takenOnes(1);
      const [sent = ''] = await takenOnes(1);
      expect(await store.attempts.allocate(held, anAttempt(0, [sent], 1), aBudget(1n))).toEqual({
        kind: 'ok',
      });
      const stale = [taken, sent, 'a'.repeat(43), taken];
      expect(await store.queue.ready(CHAIN, stale)).toBe(0);
      expect(await store.queue.take(held, 9)).toEqual([]);
      expect(await store.queue.finishedOf(CHAIN, stale)).toEqual(['a'.repeat(43)]);
    });

    it('gives the payment back as it was claimed, with what is known of it', async () => {
      const payment = aPayment();
      const id = await harness.claim(payment);
      await store.queue.ready(CHAIN, [id]);
      expect(await store.queue.take(held, 1)).toEqual([
        { id, payment, tries: 0, goesAlone: false, isResubmitted: false },
      ]);
    });

    it('counts how often one was put off, and keeps it back until its time', async () => {
      const [id = ''] = await takenOnes(1);
      await store.queue.postpone(held, [id], 60_000);
      await store.queue.sweep(CHAIN, 10);
      expect(await store.queue.take(held, 1)).toEqual([]);
    });

    it('brings back one that was put off for no time, with one try more', async () => {
      const [id = ''] = await takenOnes(1);
      await store.queue.postpone(held, [id], 0);
      await store.queue.sweep(CHAIN, 10);
      expect(await store.queue.take(held, 1)).toMatchObject([{ id, tries: 1 }]);
    });

    it('gives one back after a delay without counting a try', async () => {
      const [id = ''] = await takenOnes(1);
      await store.queue.giveBack(held, [id], 60_000);
      await store.queue.sweep(CHAIN, 10);
      expect(await store.queue.take(held, 1)).toEqual([]);
      const [other = ''] = await takenOnes(1);
      await store.queue.giveBack(held, [other], 0);
      await store.queue.sweep(CHAIN, 10);
      expect(await store.queue.take(held, 1)).toMatchObject([{ id: other, tries: 0 }]);
    });

    it('takes nothing and allocates nothing on a lane that is paused', async () => {
      const [id = ''] = await takenOnes(1);
      await harness.switch('paused', lane);
      const attempt = anAttempt(0, [id], 1);
      expect(await store.attempts.allocate(held, attempt, aBudget(1n))).toEqual({ kind: 'paused' });
      await readyOnes(1);
      expect(await store.queue.take(held, 1)).toEqual([]);
    });

    it('answers a step again that was taken before its lane was paused', async () => {
      const [first = '', second = ''] = await takenOnes(2);
      const [attempt, funding] = [anAttempt(0, [first], 1), aFunding(1, second)];
      expect(await store.attempts.allocate(held, attempt, aBudget(1n))).toEqual({ kind: 'ok' });
      expect(await store.attempts.fund(held, funding, aBudget(1n))).toEqual({ kind: 'ok' });
      await harness.switch('paused', lane);
      // The replies were lost.
      expect(await store.attempts.allocate(held, attempt, aBudget(1n))).toEqual({ kind: 'ok' });
      expect(await store.attempts.fund(held, funding, aBudget(1n))).toEqual({ kind: 'ok' });
    });

    // -------------------------------------------------------------- what one signer alone may send

    async function boundOnes(count: number, signer: Address): Promise<string[]> {
      const ids: string[] = [];
      for (let n = 0; n < count; n += 1) {
        payments += 1;
        const terms = { nonce: BigInt(payments), deadline: 4_000_000_000n, facilitator: signer };
        const authorization = anUptoAuthorization({ ...terms, from: PAYER });
        ids.push(await harness.claim(anAcceptedUpto({ chainId: CHAIN, authorization })));
      }
      await store.queue.ready(CHAIN, ids);
      return ids;
    }
    const idsOf = (taken: readonly { readonly id: string }[]): string[] =>
      taken.map(({ id }) => id).sort();

    it('gives what one signer alone may send to its lane, whoever else asks', async () => {
      const theirs = await boundOnes(2, OTHER);
      const own = await boundOnes(1, SIGNER);
      const free = await readyOnes(1);
      expect(idsOf(await store.queue.take(held, 9))).toEqual([...own, ...free].sort());
      lane = `${CHAIN}:${OTHER}`;
      expect(idsOf(await store.queue.take(await acquire('p2'), 9))).toEqual([...theirs].sort());
    });

    it('gives a lane that retires nothing but what names it', async () => {
      const free = await readyOnes(1);
      const own = await boundOnes(1, SIGNER);
      expect(idsOf(await store.queue.take(held, 9, true))).toEqual(own);
      expect(idsOf(await store.queue.take(held, 9))).toEqual(free);
    });

    it('nor one that an operator retires, whatever its process says', async () => {
      const free = await readyOnes(1);
      const own = await boundOnes(1, SIGNER);
      await harness.switch('retiring', lane);
      expect(idsOf(await store.queue.take(held, 9))).toEqual(own);
      lane = `${CHAIN}:${OTHER}`;
      expect(idsOf(await store.queue.take(await acquire('p2'), 9))).toEqual(free);
    });

    it('brings it back to its lane, however it comes back', async () => {
      const [first = '', second = ''] = await boundOnes(2, SIGNER);
      await store.queue.take(held, 9);
      await store.queue.giveBack(held, [first]);
      await store.queue.postpone(held, [second], 0);
      await store.queue.sweep(CHAIN, 10);
      // Its writer dies; the next one opens the lane.
      await store.queue.take(held, 1);
      await store.leases.open(held);
      lane = `${CHAIN}:${OTHER}`;
      expect(await store.queue.take(await acquire('p2'), 9)).toEqual([]);
      expect(idsOf(await store.queue.take(held, 9))).toEqual([first, second].sort());
      const attempt = anAttempt(0, [first, second], 1);
      expect(await store.attempts.allocate(held, attempt, aBudget(1n))).toEqual({ kind: 'ok' });
      await store.endings.requeue(held, 0, 4n, [first, second]);
      expect(idsOf(await store.queue.take(held, 9))).toEqual([first, second].sort());
    });

    it('ends it at its deadline where its lane never comes', async () => {
      const authorization = anUptoAuthorization({
        nonce: 5n,
        deadline: 1n,
        facilitator: OTHER,
        from: PAYER,
      });
      const id = await harness.claim(anAcceptedUpto({ chainId: CHAIN, authorization }));
      await store.queue.ready(CHAIN, [id]);
      expect((await store.queue.sweep(CHAIN, 9)).expired).toEqual([id]);
      expect(await harness.stateOf(id)).toBe('expired');
    });

    // -------------------------------------------------------------- account nonces and bytes

    it('stores nonce, bytes and settlements in one step, or nothing', async () => {
      const [id = ''] = await takenOnes(1);
      const attempt = anAttempt(1, [id], 1);
      expect(await store.attempts.allocate(held, attempt, aBudget(1n))).toEqual({ kind: 'nonce' });
      const withStranger = anAttempt(0, [id, 'nobody'], 1);
      expect(await store.attempts.allocate(held, withStranger, aBudget(1n))).toEqual({
        kind: 'gone',
        ids: ['nobody'],
      });
      expect(await states(id)).toEqual(['queued']);
      expect((await store.leases.open(held)).next).toBe(0);
    });

    it('opens with everything that is on its way, as it was stored', async () => {
      const ids = await sentOnes(2);
      await store.attempts.include(held, 0, BLOCK, 2, [{ id: ids[0] ?? '', logIndex: 3 }]);
      const { next, attempts, settlements } = await store.leases.open(held);
      expect(next).toBe(1);
      expect(attempts).toEqual([anAttempt(0, ids, 100)]);
      expect(settlements.get(ids[0] ?? '')).toMatchObject({
        state: 'included',
        accountNonce: 0,
        inclusion: {
          transaction: BLOCK.transaction,
          blockNumber: BLOCK.number,
          blockHash: BLOCK.hash,
          logIndex: 3,
        },
      });
      expect(settlements.get(ids[1] ?? '')).toMatchObject({ state: 'broadcast', accountNonce: 0 });
      expect(settlements.get(ids[1] ?? '')?.inclusion).toBeUndefined();
    });

    it('stores an inclusion that no log shows', async () => {
      const [id = ''] = await sentOnes(1);
      await store.attempts.include(held, 0, BLOCK, 1, [{ id, logIndex: undefined }]);
      const { settlements } = await store.leases.open(held);
      expect(settlements.get(id)?.state).toBe('included');
      expect(settlements.get(id)?.inclusion?.logIndex).toBeUndefined();
      expect(settlements.get(id)?.inclusion?.transaction).toBe(BLOCK.transaction);
    });

    it('puts back on opening what was taken and not signed', async () => {
      const [id = ''] = await takenOnes(1);
      await store.leases.open(held);
      expect(await store.queue.take(held, 1)).toMatchObject([{ id }]);
    });

    it('fills only nonces below the next one, of which nothing is stored', async () => {
      await sentOnes(1);
      await store.leases.setNext(held, 1, 3);
      expect(await store.attempts.fillGap(held, anAttempt(0, [], 9), aBudget(1n))).toEqual({
        kind: 'lost',
      });
      // The first reply may have been lost.
      for (const attempts of [store.attempts, store.attempts]) {
        expect(await attempts.fillGap(held, anAttempt(1, [], 9), aBudget(1n))).toEqual({
          kind: 'ok',
        });
      }
      expect(await store.attempts.fillGap(held, anAttempt(1, [], 10), aBudget(1n))).toEqual({
        kind: 'lost',
      });
      expect(await store.attempts.fillGap(held, anAttempt(3, [], 9), aBudget(1n))).toEqual({
        kind: 'lost',
      });
    });

    it('sets the next nonce only from the one that is known', async () => {
      expect(await store.leases.setNext(held, 4, 9)).toBe(false);
      expect(await store.leases.setNext(held, 0, 9)).toBe(true);
      expect((await store.leases.open(held)).next).toBe(9);
    });

    // -------------------------------------------------------------- budgets

    it('never reserves a unit above a budget, for a replacement neither', async () => {
      const [id = ''] = await takenOnes(1);
      const most = { laneGwei: 100n, payeeGwei: 100n };
      const attempt = anAttempt(0, [id], 1);
      expect(await store.attempts.allocate(held, attempt, aBudget(101n, most))).toEqual({
        kind: 'budget',
        subject: 'lane',
      });
      expect(await store.attempts.allocate(held, attempt, aBudget(90n, most))).toEqual({
        kind: 'ok',
      });
      expect(await harness.spentOn(CHAIN, lane, DAY)).toBe(90n);
      const dearer = anAttempt(0, [id], 1, 2);
      expect(await store.attempts.replace(held, dearer, aBudget(101n, most))).toMatchObject({
        kind: 'budget',
      });
      expect((await store.leases.open(held)).attempts[0]?.transactions).toHaveLength(1);
      expect(await store.attempts.replace(held, dearer, aBudget(100n, most))).toEqual({
        kind: 'ok',
      });
      expect(await harness.spentOn(CHAIN, lane, DAY)).toBe(100n);
      // A transaction that costs no more than what is reserved is always affordable.
      expect(
        await store.attempts.replace(held, anAttempt(0, [id], 1, 2, 3), aBudget(100n, most)),
      ).toEqual({
        kind: 'ok',
      });
      await store.attempts.closeAttempt(held, 0, 40n * 1_000_000_000n);
      expect(await harness.spentOn(CHAIN, lane, DAY)).toBe(40n);
      expect(await harness.spentOn(CHAIN, PAYEE, DAY)).toBe(40n);
    });

    it('charges what fills a gap like anything else, and leaves a gap where nothing is left', async () => {
      await store.leases.setNext(held, 0, 2);
      const most = { laneGwei: 100n };
      const filler = anAttempt(0, [], 1);
      const dear = await store.attempts.fillGap(held, filler, aBudget(101n, most));
      expect(dear).toEqual({ kind: 'budget', subject: 'lane' });
      expect(await store.attempts.fillGap(held, filler, aBudget(60n, most))).toEqual({
        kind: 'ok',
      });
      const next = anAttempt(1, [], 2);
      expect(await store.attempts.fillGap(held, next, aBudget(60n, most))).toMatchObject({
        kind: 'budget',
      });
      await store.attempts.closeAttempt(held, 0, 10n * 10n ** 9n);
      expect(await store.attempts.fillGap(held, next, aBudget(60n, most))).toEqual({ kind: 'ok' });
    });

    it('names the payee whose budget is used up', async () => {
      const [id = ''] = await takenOnes(1);
      const budget = aBudget(101n, { payeeGwei: 100n });
      expect(await store.attempts.allocate(held, anAttempt(0, [id], 1), budget)).toEqual({
        kind: 'budget',
        subject: PAYEE,
      });
    });

    it('charges deposits, claims and refunds to who signed them, whatever payee they name', async () => {
      const budget = aBudget(60n, { payeeGwei: 100n });
      const receiver = PAYEE;
      let accountNonce = 0;
      const allocated = async (authorization: AcceptedPayment['authorization']) => {
        const id = await harness.claim(anAcceptedPayment({ authorization }));
        await store.queue.ready(CHAIN, [id]);
        await store.queue.take(held, 1);
        const attempt = anAttempt(accountNonce, [id], 200 + accountNonce);
        const result = await store.attempts.allocate(held, attempt, budget);
        if (result.kind === 'ok') accountNonce += 1;
        return result.kind === 'budget' ? result.subject : result.kind;
      };
      const kinds = ['byEip3009', 'byPermit2', 'claim', 'refund'] as const;
      for (const [index, kind] of kinds.entries()) {
        const payer: Address = `0x${`e${index}`.repeat(20)}`;
        const authorizer: Address = `0x${`f${index}`.repeat(20)}`;
        const move = (n: number) =>
          channelMoves({ payer, receiver, authorizer }, 10 * index + n)[kind];
        expect(await allocated(move(1))).toBe('ok');
        expect(await allocated(move(2))).toBe(kind.startsWith('by') ? payer : authorizer);
      }
      expect(await harness.spentOn(CHAIN, PAYEE, DAY)).toBe(0n);
      expect(await allocated(aPayment().authorization)).toBe('ok');
      expect(await harness.spentOn(CHAIN, PAYEE, DAY)).toBe(60n);
    });

    // -------------------------------------------------------------- outcomes

    it('takes back what a replaced block had included', async () => {
      const [id = ''] = await sentOnes(1);
      await store.attempts.include(held, 0, BLOCK, 1, [{ id, logIndex: 0 }]);
      expect(await states(id)).toEqual(['included']);
      await store.attempts.uninclude(held, 0, [id]);
      expect(await states(id)).toEqual(['broadcast']);
      expect((await store.leases.open(held)).settlements.get(id)?.inclusion).toBeUndefined();
    });

    it('ends each once, and only at its own nonce', async () => {
      const [id = ''] = await sentOnes(1);
      await store.endings.finish(held, 7, [{ id, state: 'finalized', isPaid: true }]);
      expect(await states(id)).toEqual(['broadcast']);
      await store.endings.finish(held, 0, [{ id, state: 'expired', isPaid: false }]);
      await store.endings.finish(held, 0, [{ id, state: 'reverted', isPaid: false }]);
      expect(await states(id)).toEqual(['expired']);
      expect(await store.queue.finishedOf(CHAIN, [id])).toEqual([id]);
      expect((await store.queue.paymentsOf(CHAIN, [id])).size).toBe(0);
    });

    it('sends alone what goes back into the queue, and knows what was sent for it', async () => {
      const [id = ''] = await sentOnes(1);
      await store.endings.requeue(held, 0, 5n, [id]);
      expect(await states(id)).toEqual(['queued']);
      expect(await store.queue.take(held, 1)).toMatchObject([
        { id, goesAlone: true, sentBefore: { sinceBlock: 5n, hashes: [hashOf(100)] } },
      ]);
    });

    it('refuses what was never sent as withdrawn, and what was sent as reverted', async () => {
      const [sent = ''] = await sentOnes(1);
      await store.endings.requeue(held, 0, 5n, [sent]);
      const [fresh = ''] = await readyOnes(1);
      await store.queue.take(held, 2);
      await store.queue.refuse(
        held,
        [sent, fresh].map((id) => ({ id, reason: 'budget_exhausted' })),
      );
      expect(await states(sent, fresh)).toEqual(['reverted', 'withdrawn']);
    });

    it('does not end what somebody was told success for: it is collected again', async () => {
      const [id = ''] = await sentOnes(1);
      await store.attempts.include(held, 0, BLOCK, 1, [{ id, logIndex: 0 }]);
      await harness.tell(id);
      await store.attempts.uninclude(held, 0, [id]);
      // The first reply may have been lost.
      for (const endings of [store.endings, store.endings]) {
        const { resubmitted } = await endings.finish(held, 0, [
          { id, state: 'reverted', isPaid: false },
        ]);
        expect(resubmitted).toEqual([id]);
      }
      expect(await states(id)).toEqual(['queued']);
      await store.attempts.closeAttempt(held, 0, 0n);
      // The first time at once.
      await store.queue.sweep(CHAIN, 10);
      expect(await store.queue.take(held, 1)).toMatchObject([{ id, isResubmitted: true }]);
      // The chain does not want it now: it is put off, and not refused.
      await store.queue.refuse(held, [{ id, reason: 'invalid_exact_evm_insufficient_balance' }]);
      expect(await states(id)).toEqual(['queued']);
    });

    it('ends what its own transaction used without paying it, also where success was acknowledged', async () => {
      const ids = await sentOnes(2);
      const [followed = '', parked = ''] = ids;
      const items = ids.map((id, logIndex) => ({ id, logIndex }));
      await store.attempts.include(held, 0, BLOCK, 2, items);
      for (const id of ids) await harness.tell(id);
      await store.attempts.uninclude(held, 0, ids);
      const ending = { state: 'reverted', isPaid: false, isUsed: true } as const;
      expect(await store.endings.finish(held, 0, [{ id: followed, ...ending }])).toEqual({
        resubmitted: [],
      });
      await store.endings.park(held, 0, 5n, [{ id: parked, why: 'search_failed', retryAtMs: 0 }]);
      const unparking = { kind: 'ended', ending: { id: parked, ...ending } } as const;
      expect(await store.endings.unpark(CHAIN, [unparking])).toEqual({ resubmitted: [] });
      expect(await states(followed, parked)).toEqual(['reverted', 'reverted']);
    });

    it('gives up after an hour what no goods depend on, by its transaction and by its simulation', async () => {
      const parties = { payer: PAYER, receiver: PAYER, authorizer: PAYER };
      const ids: string[] = [];
      for (const [index, resubmissions] of [59, 60, 60, 60].entries()) {
        const authorization = channelMoves(parties, index + 1).claim;
        const id = await harness.claim(anAcceptedPayment({ authorization }));
        await store.queue.ready(CHAIN, [id]);
        await store.queue.take(held, 1);
        const attempt = anAttempt(index, [id], 100 + index);
        await store.attempts.allocate(held, attempt, aBudget(10n));
        await store.attempts.include(held, index, BLOCK, 1, [{ id, logIndex: undefined }]);
        await harness.tell(id, resubmissions);
        await store.attempts.uninclude(held, index, [id]);
        ids.push(id);
      }
      const [again = '', over = '', refused = '', short = ''] = ids;
      const ending = { state: 'reverted', isPaid: false } as const;
      const { resubmitted } = await store.endings.finish(held, 0, [{ id: again, ...ending }]);
      expect(resubmitted).toEqual([again]);
      expect(await store.endings.finish(held, 1, [{ id: over, ...ending }])).toEqual({
        resubmitted: [],
      });
      await store.endings.requeue(held, 2, 1n, [refused]);
      await store.endings.requeue(held, 3, 1n, [short]);
      await store.queue.take(held, 2);
      await store.queue.refuse(held, [
        { id: refused, reason: 'asset_suspended' },
        // The budget of the next day may have room: nothing was tried.
        { id: short, reason: 'budget_exhausted' },
      ]);
      const all = await states(again, over, refused, short);
      expect(all).toEqual(['queued', 'reverted', 'reverted', 'queued']);
    });

    it('parks what cannot be told, hands it out when it is due, and takes its end', async () => {
      const [id = ''] = await sentOnes(1);
      await store.endings.park(held, 0, 5n, [{ id, why: 'state_unreadable', retryAtMs: 0 }]);
      await store.attempts.closeAttempt(held, 0, 0n);
      expect(await states(id)).toEqual(['broadcast']);
      expect(await store.endings.parkedCount(CHAIN)).toBe(1);
      const [parked] = await store.endings.dueParked(CHAIN, 9);
      expect(parked).toMatchObject({ id, why: 'state_unreadable', tries: 0 });
      expect(parked?.sentBefore).toEqual({ sinceBlock: 5n, hashes: [hashOf(100)] });
      // One worker has it for a while.
      expect(await store.endings.dueParked(CHAIN, 9)).toEqual([]);
      await store.endings.unpark(CHAIN, [
        { kind: 'again', id, why: 'search_failed', retryAtMs: 0 },
      ]);
      expect(await store.endings.dueParked(CHAIN, 9)).toMatchObject([{ id, tries: 1 }]);
      await store.endings.unpark(CHAIN, [
        { kind: 'ended', ending: { id, state: 'foreign', isPaid: true, logIndex: 1 } },
      ]);
      expect(await states(id)).toEqual(['foreign']);
      expect(await store.endings.parkedCount(CHAIN)).toBe(0);
    });

    it('keeps the failed transaction of what is parked, and forgets it with the next parking', async () => {
      const [id = ''] = await sentOnes(1);
      const failed = {
        transaction: hashOf(100),
        blockNumber: 7n,
        blockHash: hashOf(7),
        isSuccess: false,
      };
      const parking = { id, why: 'search_failed', retryAtMs: 0 } as const;
      await store.endings.park(held, 0, 5n, [{ ...parking, failed }]);
      await store.endings.unpark(CHAIN, [{ kind: 'again', ...parking }]);
      const [parked] = await store.endings.dueParked(CHAIN, 9);
      expect(parked?.sentBefore.failed).toEqual(failed);
      await store.endings.unpark(CHAIN, [{ kind: 'requeue', id }]);
      await store.queue.take(held, 1);
      await store.endings.park(held, undefined, 5n, [parking]);
      const [again] = await store.endings.dueParked(CHAIN, 9);
      expect(again?.sentBefore).toEqual({ sinceBlock: 5n, hashes: [hashOf(100)] });
    });

    it('names the transaction of another sender that has paid, and no other one', async () => {
      const [cancelled = '', copied = ''] = await sentOnes(2);
      await store.endings.finish(held, 0, [
        { id: cancelled, state: 'foreign', isPaid: true },
        { id: copied, state: 'foreign', isPaid: true, transaction: hashOf(9) },
      ]);
      expect(await states(cancelled, copied)).toEqual(['foreign', 'foreign']);
      expect(await harness.transactionOf(cancelled)).toBeUndefined();
      expect(await harness.transactionOf(copied)).toBe(hashOf(9));
    });

    it('says of a parked one that it is resubmitted, also where the first reply was lost', async () => {
      const [id = ''] = await sentOnes(1);
      await store.attempts.include(held, 0, BLOCK, 1, [{ id, logIndex: 0 }]);
      await harness.tell(id);
      await store.attempts.uninclude(held, 0, [id]);
      await store.endings.park(held, 0, 5n, [{ id, why: 'search_failed', retryAtMs: 0 }]);
      const ending = { id, state: 'reverted', isPaid: false } as const;
      for (const endings of [store.endings, store.endings]) {
        const { resubmitted } = await endings.unpark(CHAIN, [{ kind: 'ended', ending }]);
        expect(resubmitted).toEqual([id]);
      }
    });

    it('sends again what was parked and is unused', async () => {
      const [id = ''] = await sentOnes(1);
      await store.endings.park(held, 0, 5n, [{ id, why: 'search_failed', retryAtMs: 0 }]);
      await store.endings.unpark(CHAIN, [
        { kind: 'again', id, why: 'search_failed', retryAtMs: 0 },
      ]);
      await store.endings.unpark(CHAIN, [{ kind: 'requeue', id }]);
      expect(await store.queue.take(held, 1)).toMatchObject([{ id, goesAlone: true, tries: 0 }]);
    });

    it('credits one log once', async () => {
      expect(await store.endings.credit(CHAIN, hashOf(1), 0, LOST)).toBe(true);
      expect(await store.endings.credit(CHAIN, hashOf(1), 0, LOST)).toBe(true);
      expect(await store.endings.credit(CHAIN, hashOf(1), 0, ANOTHER)).toBe(false);
      expect(await store.endings.credit(CHAIN, hashOf(1), 1, ANOTHER)).toBe(true);
    });

    // -------------------------------------------------------------- payers that are funded

    const PAYEE_OF_ALL = anAcceptedPayment().payTo;
    const aFunding = (
      accountNonce: number,
      settlementId: string,
      { payerNonce = 3, payer = PAYER, hash = 500 + accountNonce } = {},
    ): Attempt => ({
      accountNonce,
      kind: 'fund',
      settlementIds: [],
      allocatedAtBlock: 5n,
      funding: { payer, payerNonce, valueWei: 7n * 10n ** 9n, settlementId },
      transactions: [aTransaction(hash)],
    });
    const fundings = () => harness.spentOn(CHAIN, 'fundings', DAY);

    it('funds a payer once for each of its account nonces, whatever becomes of it', async () => {
      const [id = ''] = await takenOnes(1);
      const funding = aFunding(0, id);
      expect(await store.attempts.fundingOf(CHAIN, PAYER)).toBeUndefined();
      expect(await store.attempts.fund(held, funding, aBudget(10n))).toEqual({ kind: 'ok' });
      // The reply was lost.
      expect(await store.attempts.fund(held, funding, aBudget(10n))).toEqual({ kind: 'ok' });
      expect(await store.attempts.fundingOf(CHAIN, PAYER)).toEqual({
        payerNonce: 3,
        isDone: false,
      });
      expect(await states(id)).toEqual(['queued']);
      for (const payerNonce of [3, 2]) {
        const again = aFunding(1, id, { payerNonce });
        expect(await store.attempts.fund(held, again, aBudget(10n))).toEqual({ kind: 'funded' });
      }
      await store.attempts.closeAttempt(held, 0, 0n);
      expect(await store.attempts.fundingOf(CHAIN, PAYER)).toEqual({ payerNonce: 3, isDone: true });
      expect(await store.attempts.fund(held, aFunding(1, id), aBudget(10n))).toEqual({
        kind: 'funded',
      });
      const next = aFunding(1, id, { payerNonce: 4 });
      expect(await store.attempts.fund(held, next, aBudget(10n))).toEqual({ kind: 'ok' });
      expect(await store.attempts.fundingOf(CHAIN, PAYER)).toEqual({
        payerNonce: 4,
        isDone: false,
      });
    });

    it('hands a funding to the next writer of the lane as it was stored', async () => {
      const [id = ''] = await takenOnes(1);
      const funding = aFunding(0, id);
      await store.attempts.fund(held, funding, aBudget(10n));
      const { next, attempts, settlements } = await store.leases.open(held);
      expect({ next, attempts, carried: settlements.size }).toEqual({
        next: 1,
        attempts: [funding],
        carried: 0,
      });
      // What needs it is ready again, and the chain says how far it is.
      expect(await store.queue.take(held, 9)).toMatchObject([{ id }]);
    });

    it('funds nobody for what is not in the hands of the lane', async () => {
      const [id = ''] = await readyOnes(1);
      expect(await store.attempts.fund(held, aFunding(0, id), aBudget(10n))).toEqual({
        kind: 'gone',
        ids: [id],
      });
      expect(await store.attempts.fundingOf(CHAIN, PAYER)).toBeUndefined();
      expect((await store.leases.open(held)).next).toBe(0);
    });

    it('funds nobody at another nonce, or while the lane is paused', async () => {
      const [id = ''] = await takenOnes(1);
      expect(await store.attempts.fund(held, aFunding(5, id), aBudget(10n))).toEqual({
        kind: 'nonce',
      });
      await harness.switch('paused', lane);
      expect(await store.attempts.fund(held, aFunding(0, id), aBudget(10n))).toEqual({
        kind: 'paused',
      });
      expect(await store.attempts.fundingOf(CHAIN, PAYER)).toBeUndefined();
    });

    it('never spends a unit above the budget of fundings, for a replacement neither', async () => {
      const [id = ''] = await takenOnes(1);
      const most = { fundingsGwei: 100n };
      const dear = await store.attempts.fund(held, aFunding(0, id), aBudget(101n, most));
      expect(dear).toEqual({ kind: 'budget', subject: 'fundings' });
      expect(await store.attempts.fundingOf(CHAIN, PAYER)).toBeUndefined();
      expect(await store.attempts.fund(held, aFunding(0, id), aBudget(90n, most))).toEqual({
        kind: 'ok',
      });
      const replaced: Attempt = {
        ...aFunding(0, id),
        transactions: [aTransaction(500), aTransaction(600)],
      };
      expect(await store.attempts.replace(held, replaced, aBudget(101n, most))).toMatchObject({
        kind: 'budget',
      });
      expect(await store.attempts.replace(held, replaced, aBudget(100n, most))).toEqual({
        kind: 'ok',
      });
      expect(await fundings()).toBe(100n);
      const other = aFunding(1, id, { payer: OTHER });
      expect(await store.attempts.fund(held, other, aBudget(1n, most))).toMatchObject({
        kind: 'budget',
      });
      // What it did cost is what is charged.
      await store.attempts.closeAttempt(held, 0, 40n * 10n ** 9n);
      expect(await fundings()).toBe(40n);
      expect(await store.attempts.fund(held, other, aBudget(60n, most))).toEqual({ kind: 'ok' });
      expect(await fundings()).toBe(100n);
    });

    /** A payment that its payer's own transaction comes before. */
    const aSponsored = (
      from: Address,
      asset?: Address,
      deadline = 4_000_000_000n,
    ): AcceptedPayment =>
      anAcceptedPayment({
        ...(asset && { asset }),
        authorization: aPermit2Authorization({
          from,
          nonce: BigInt((payments += 1)),
          deadline,
          sponsoredApproval: {
            raw: '0x02',
            hash: hashOf(3),
            accountNonce: 3,
            gas: 70_000n,
            maxFeePerGas: 1n,
          },
        }),
      });
    const payerOf = (n: number): Address => `0x${n.toString(16).padStart(38, 'c')}c1`;
    async function aFundedOne(
      payer: Address,
      accountNonce: number,
      payeeGwei = 1000n,
    ): Promise<string> {
      const id = await harness.claim(aSponsored(payer));
      await store.queue.ready(CHAIN, [id]);
      await store.queue.take(held, 1);
      const budget = aBudget(90n, { payeeGwei, fundingsGwei: 100_000n });
      const funding = aFunding(accountNonce, id, { payer, payerNonce: accountNonce });
      expect(await store.attempts.fund(held, funding, budget)).toEqual({ kind: 'ok' });
      return id;
    }

    it('takes what has to be prepared only for places that are free, of each asset its share', async () => {
      const [asset, other]: Address[] = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`];
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) ids.push(await harness.claim(aSponsored(payerOf(n), asset)));
      const second = await harness.claim(aSponsored(payerOf(9), other));
      const plain = await harness.claim(aPayment());
      await store.queue.ready(CHAIN, [...ids, second, plain]);
      const idsIn = (taken: readonly { readonly id: string }[]) => taken.map(({ id }) => id).sort();
      const none = { free: 0, held: new Map([[asset ?? '', 4]]) };
      expect(idsIn(await store.queue.take(held, 99, false, none))).toEqual([plain]);
      // One has as many as are free: another one may have them.
      const few = { free: 2, held: new Map([[asset ?? '', 2]]) };
      expect(idsIn(await store.queue.take(held, 99, false, few))).toEqual([second]);
      const taken = await store.queue.take(held, 99, false, { free: 4, held: new Map() });
      expect(taken).toHaveLength(2);
      await store.queue.giveBack(held, idsIn(taken));
      expect(idsIn(await store.queue.take(held, 99))).toEqual([...ids].sort());
    });

    it('gives places of an asset in the order in which payments came, whatever their deadlines', async () => {
      const asset: Address = `0x${'ac'.repeat(20)}`;
      const ids: string[] = [];
      for (const [n, deadline] of [4_000_000_000n, 3_000_000_000n, 3_500_000_000n].entries()) {
        ids.push(await harness.claim(aSponsored(payerOf(60 + n), asset, deadline)));
        // The next one comes in another millisecond.
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      await store.queue.ready(CHAIN, [...ids].reverse());
      const first = await store.queue.take(held, 1);
      // A returned settlement keeps its turn.
      await store.queue.giveBack(
        held,
        first.map(({ id }) => id),
      );
      const taken = [
        ...first,
        ...(await store.queue.take(held, 1)),
        ...(await store.queue.take(held, 1)),
        ...(await store.queue.take(held, 1)),
      ];
      expect(taken.map(({ id }) => id)).toEqual([ids[0], ...ids]);
    });

    it('charges a funding to the payee when it is paid, and not before', async () => {
      const payer = payerOf(20);
      const id = await aFundedOne(payer, 0);
      const ofPayee = () => harness.spentOn(CHAIN, PAYEE_OF_ALL, DAY);
      expect([await fundings(), await ofPayee()]).toEqual([90n, 0n]);
      await store.attempts.closeAttempt(held, 0, 40n * 10n ** 9n);
      expect([await fundings(), await ofPayee()]).toEqual([40n, 0n]);
      await store.attempts.allocate(
        held,
        anAttempt(1, [id], 7),
        aBudget(10n, { payeeGwei: 1000n }),
      );
      await store.attempts.include(held, 1, BLOCK, 1, [{ id, logIndex: 0 }]);
      expect(await ofPayee()).toBe(10n);
      await store.endings.finish(held, 1, [{ id, state: 'finalized', isPaid: true, logIndex: 0 }]);
      expect(await ofPayee()).toBe(50n);
      expect(await harness.blameOf(CHAIN, payer)).toBe(0);
    });

    it('leaves the budget of a payee alone that fundings only name', async () => {
      for (let n = 0; n < 3; n += 1) {
        const id = await aFundedOne(payerOf(30 + n), n, 100n);
        await store.queue.refuse(held, [{ id, reason: 'erc20_approval_broadcast_failed' }]);
      }
      expect(await harness.spentOn(CHAIN, PAYEE_OF_ALL, DAY)).toBe(0n);
    });

    it.each<[string, (id: string) => Promise<unknown>]>([
      [
        'its approval does not come',
        (id) => store.queue.refuse(held, [{ id, reason: 'erc20_approval_broadcast_failed' }]),
      ],
      [
        'it expires',
        (id) => store.queue.refuse(held, [{ id, reason: 'permit2_deadline_expired' }]),
      ],
      ['the lane is short of money', (id) => store.queue.refuse(held, [{ id, reason: 'no_gas' }])],
      [
        'somebody else uses the authorization',
        async (id) => {
          await store.attempts.allocate(held, anAttempt(1, [id], 7), aBudget(1n));
          await store.endings.finish(held, 1, [{ id, state: 'foreign', isPaid: false }]);
        },
      ],
    ])('counts coins against their payer that were sent and not paid: %s', async (_, end) => {
      const payer = payerOf(40);
      await end(await aFundedOne(payer, 0));
      expect(await harness.blameOf(CHAIN, payer)).toBe(1);
    });

    it('counts a place that came to nothing against its payer, and what the operator lacks against nobody', async () => {
      const [payer, other] = [payerOf(50), payerOf(51)];
      for (const from of [payer, other]) {
        const id = await harness.claim(aSponsored(from));
        await store.queue.ready(CHAIN, [id]);
        await store.queue.take(held, 1);
        const reason = from === payer ? 'erc20_approval_broadcast_failed' : 'no_gas';
        await store.queue.refuse(held, [{ id, reason }]);
      }
      expect(await harness.blameOf(CHAIN, payer)).toBe(1);
      expect(await harness.blameOf(CHAIN, other)).toBe(0);
    });

    it('funds nobody beyond the budget of the lane, nor for a payee that has no budget left', async () => {
      const [id = ''] = await takenOnes(1);
      const budget = aBudget(90n, { laneGwei: 89n, payeeGwei: 1000n, fundingsGwei: 1000n });
      expect(await store.attempts.fund(held, aFunding(0, id), budget)).toEqual({
        kind: 'budget',
        subject: 'lane',
      });
      const ofPayee = aBudget(90n, { laneGwei: 1000n, payeeGwei: 89n, fundingsGwei: 1000n });
      expect(await store.attempts.fund(held, aFunding(0, id), ofPayee)).toEqual({
        kind: 'budget',
        subject: PAYEE_OF_ALL,
      });
      expect(await fundings()).toBe(0n);
      expect(await store.attempts.fundingOf(CHAIN, PAYER)).toBeUndefined();
    });

    it('notes again in a ledger that went back who was funded', async () => {
      const funding = aFunding(0, LOST);
      const remembered = [{ attempt: funding, payments: new Map() }];
      for (let time = 0; time < 2; time += 1) {
        await store.leases.restoreAttempts(held, remembered, 1);
        expect(await store.attempts.fundingOf(CHAIN, PAYER)).toEqual({
          payerNonce: 3,
          isDone: false,
        });
        expect((await store.leases.open(held)).attempts).toEqual([funding]);
      }
    });

    // -------------------------------------------------------------- a ledger that went back

    it('stores again what a lane remembers, also what it has no record of', async () => {
      const payment = aPayment();
      const [known = ''] = await readyOnes(1);
      const attempt = anAttempt(0, [known, LOST], 1, 2);
      const knownPayment = (await store.queue.paymentsOf(CHAIN, [known])).get(known) ?? aPayment();
      const remembered = [
        {
          attempt,
          payments: new Map([
            [known, knownPayment],
            [LOST, payment],
          ]),
        },
      ];
      for (let time = 0; time < 2; time += 1) {
        await store.leases.restoreAttempts(held, remembered, 1);
        const { next, attempts, settlements } = await store.leases.open(held);
        expect(next).toBe(1);
        expect(attempts).toEqual([attempt]);
        expect([...settlements.keys()].sort()).toEqual([known, LOST].sort());
        expect(await states(known, LOST)).toEqual(['broadcast', 'broadcast']);
      }
    });

    it('never restores what has ended', async () => {
      const ids = await sentOnes(1);
      const [id = ''] = ids;
      await store.endings.finish(held, 0, [{ id, state: 'finalized', isPaid: true, logIndex: 0 }]);
      await store.leases.restoreAttempts(
        held,
        [{ attempt: anAttempt(0, ids, 100), payments: new Map([[id, aPayment()]]) }],
        1,
      );
      expect(await states(id)).toEqual(['finalized']);
    });
  });
}
