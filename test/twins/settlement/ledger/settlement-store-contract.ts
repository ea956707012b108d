import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import { boundPaymentOf } from '../../../../src/facilitator/settle/key-binding.js';
import type { PayerTransaction } from '../../../../src/protocol/evm/payer-transaction.js';
import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import { type PaymentIdentity, termsOf } from '../../../../src/protocol/payment/identity.js';
import type { Reason } from '../../../../src/protocol/reasons.js';
import { BATCH_SETTLEMENT } from '../../../../src/protocol/schemes/batch-settlement/claims.js';
import type { Payout } from '../../../../src/protocol/schemes/batch-settlement/payout.js';
import { credentialsOf, type Requester } from '../../../../src/settlement/ledger/requester.js';
import {
  type ClaimRef,
  type ClaimResult,
  RESTATE_MS,
  type SettlementStore,
  UNSURE_MS,
} from '../../../../src/settlement/ledger/settlement-store.js';
import { PLACE_MS } from '../../../../src/settlement/model/sponsoring-machine.js';
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

/** A store, and what lanes and time do to it. */
export interface StoreWorld {
  readonly store: SettlementStore;
  pass(ms: number): Promise<void>;
  broadcast(ref: ClaimRef, transaction: Hex): Promise<void>;
  include(ref: ClaimRef): Promise<void>;
  replaceBlock(ref: ClaimRef): Promise<void>;
  finalize(ref: ClaimRef): Promise<void>;
  /** What workers look at each second is looked at. @returns the ids of what is paid and without a sale for too long. */
  unclaimed(): Promise<readonly string[]>;
  revert(ref: ClaimRef): Promise<void>;
  /** Before anything was signed. */
  refuse(ref: ClaimRef, reason: Reason): Promise<void>;
  /** A lane has it in a place, since so long ago, and waits for the payer's own transaction. */
  holdPlace(ref: ClaimRef, ms: number): Promise<void>;
  /** The ledger went back, so many milliseconds ago, and lost that this claim was sold; all else is as much older. */
  goBackBeforeSale(ref: ClaimRef, agoMs?: number): Promise<void>;
}

/** Milliseconds that a final payment may be without a sale, in every world. */
export const CONTRACT_UNCLAIMED_MS = 300;
/** Milliseconds after the inclusion from which on everybody may have the sale, in every world. */
export const CONTRACT_GRACE_MS = 600;
export const CHAIN_ID = 31_337;
const PAYER: Hex = `0x${'1c'.repeat(20)}`;
const BUYER: Address = `0x${'1d'.repeat(20)}`;
const TX: Hex = `0x${'5f'.repeat(32)}`;

let payments = 0;
let requesters = 0;

/** A payment that was never presented. */
export function aPayment(overrides: { value?: bigint } = {}): {
  payment: AcceptedPayment;
  identity: PaymentIdentity;
} {
  payments += 1;
  return paymentOf(payments, overrides.value ?? 1000n);
}

function paymentOf(nonce: number, value: bigint): ReturnType<typeof aPayment> {
  const authorization = anEip3009Authorization({
    value,
    nonce: `0x${nonce.toString(16).padStart(64, '0')}`,
  });
  const payment = anAcceptedPayment({ chainId: CHAIN_ID, amount: value, authorization });
  const terms = termsOf(payment.chainId, payment.asset, authorization);
  return { payment, identity: { ...terms, signedTag: `signed-${nonce}` } };
}

/** A payment by Permit2 of a payer of this moment's tests alone, with or without its own approval. */
function anApprovedPayment(
  overrides: Partial<AcceptedPayment> = {},
  bringsApproval = true,
): ReturnType<typeof aPayment> {
  payments += 1;
  const sponsoredApproval: PayerTransaction = {
    raw: '0x02',
    hash: `0x${'03'.repeat(32)}`,
    accountNonce: 7,
    gas: 70_000n,
    maxFeePerGas: 1n,
  };
  const authorization = aPermit2Authorization({
    nonce: BigInt(payments),
    ...(bringsApproval && { sponsoredApproval }),
  });
  const payment = anAcceptedPayment({ chainId: CHAIN_ID, authorization, ...overrides });
  const terms = termsOf(payment.chainId, payment.asset, authorization);
  return { payment, identity: { ...terms, signedTag: `signed-${payments}` } };
}

/** What a seller is paid of its channels: no goods depend on it. */
function aPayout(): ReturnType<typeof aPayment> {
  payments += 1;
  const { asset } = anAcceptedPayment();
  const authorization: Payout = {
    scheme: BATCH_SETTLEMENT,
    method: 'channel-settle',
    from: PAYER,
    signature: '0x',
    token: asset,
    upTo: BigInt(payments),
  };
  const payment = anAcceptedPayment({ chainId: CHAIN_ID, asset, authorization });
  const terms = termsOf(payment.chainId, asset, authorization);
  return { payment, identity: { ...terms, signedTag: `signed-${payments}` } };
}

/** The same payment of another payer, whatever the number at home in one place. */
function ofPayer(n: number, made: ReturnType<typeof aPayment>): ReturnType<typeof aPayment> {
  const from: Address = `0x${n.toString(16).padStart(38, 'd')}c1`;
  const payment = { ...made.payment, authorization: { ...made.payment.authorization, from } };
  const terms = termsOf(payment.chainId, payment.asset, payment.authorization);
  return { payment, identity: { ...terms, signedTag: made.identity.signedTag } };
}

export function aRequester({
  address = `192.0.2.${requesters % 250}`,
  keyTag = '',
  apiKeyId,
}: { address?: string; keyTag?: string; apiKeyId?: string } = {}): Requester {
  requesters += 1;
  return {
    id: `process${process.pid}.${requesters}`,
    keyTag,
    credentials: credentialsOf({ keyTag, apiKeyId, address }),
    arrivedAt: Date.now(),
  };
}

/** Of which no claim was ever lost. */
const AUTHORIZATION = 'known';

/** What every {@link SettlementStore} does. */
export function describeSettlementStore(name: string, open: () => Promise<StoreWorld>): void {
  describe(name, () => {
    let world: StoreWorld;
    let store: SettlementStore;

    beforeEach(async () => {
      world = await open();
      ({ store } = world);
    });

    const claim = (
      requester: Requester,
      made: ReturnType<typeof aPayment>,
      isAccepted = false,
    ): Promise<ClaimResult> =>
      store.claim(requester, {
        ...made,
        means: { balance: 10n ** 24n, allowance: 10n ** 24n },
        isAccepted,
      });

    async function claimed(
      requester: Requester,
      made = aPayment(),
      isAccepted = false,
    ): Promise<ClaimRef> {
      const result = await claim(requester, made, isAccepted);
      if (result.kind !== 'claimed') throw new Error(result.kind);
      return { chainId: CHAIN_ID, id: result.id };
    }

    const look = ({ identity, payment }: ReturnType<typeof aPayment>) =>
      store.look(identity, {
        ...payment,
        payer: payment.authorization.from,
        blamed: [payment.authorization.from],
      });

    async function included(requester: Requester, made = aPayment()): Promise<ClaimRef> {
      const ref = await claimed(requester, made);
      await world.broadcast(ref, TX);
      await world.include(ref);
      return ref;
    }

    it('knows nothing of a payment nobody claimed', async () => {
      expect(await look(aPayment())).toMatchObject({ known: undefined, isWaitedFor: false });
    });

    it('claims once: the same requester has the same claim again, another finds it known', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const ref = await claimed(first, made);
      expect(await claimed(first, made)).toEqual(ref);
      expect((await claim(second, made)).kind).toBe('known');
      expect(await look(made)).toMatchObject({
        isWaitedFor: true,
        known: { id: ref.id, state: 'queued', sale: { state: 'open' }, ...tags(made) },
      });
    });

    it('claims once what many claim at the same time, and each of them other payments', async () => {
      const made = aPayment();
      const rivals = Array.from({ length: 40 }, () => aRequester());
      const others = Array.from({ length: 40 }, () => aPayment());
      const [kinds, free] = await Promise.all([
        Promise.all(rivals.map(async (one) => (await claim(one, made)).kind)),
        Promise.all(others.map(async (one) => claim(aRequester(), one))),
      ]);
      expect(kinds.filter((kind) => kind === 'claimed')).toHaveLength(1);
      expect(kinds.filter((kind) => kind === 'known')).toHaveLength(39);
      expect(new Set(free.map((one) => one.kind === 'claimed' && one.id)).size).toBe(40);
      const known = await Promise.all(others.map(async (one) => (await look(one)).known?.id));
      expect(known).toEqual(free.map((one) => one.kind === 'claimed' && one.id));
    });

    it('leaves nothing in flight once all that was claimed at the same time is refused', async () => {
      const own = Array.from({ length: 3 }, () => ofPayer(3001, aPayment()));
      const refs = await Promise.all(own.map((one) => claimed(aRequester(), one)));
      const inFlight = async () => {
        const { payment, identity } = ofPayer(3001, aPayment());
        const payer = payment.authorization.from;
        return (await store.look(identity, { ...payment, payer, blamed: [payer] })).inFlight;
      };
      for (const [index, ref] of refs.entries()) {
        expect((await inFlight()).balanceNeeded).toBe(1000n * BigInt(3 - index));
        await world.refuse(ref, 'no_gas');
      }
      expect((await inFlight()).balanceNeeded).toBe(0n);
    });

    it('sells to one of those that redeem at the same time', async () => {
      const first = aRequester();
      const others = Array.from({ length: 20 }, () => aRequester());
      const ref = await claimed(first);
      await Promise.all(others.map((one) => store.join(ref, one)));
      await world.broadcast(ref, TX);
      await world.include(ref);
      const kinds = await Promise.all(
        [first, ...others].map(async (one) => (await store.redeem(ref, one, 'included')).kind),
      );
      expect(kinds).toEqual(['sold', ...others.map(() => 'lost')]);
    });

    it('counts what a payer has in flight, without the payment itself', async () => {
      const [one, other] = [aPayment(), aPayment()];
      await claimed(aRequester(), one);
      const { inFlight } = await look(one);
      const { inFlight: ofOther } = await look(other);
      expect(ofOther.balanceNeeded - inFlight.balanceNeeded).toBe(1000n);
    });

    it('lets one payment of a payer at a time wait for its own transaction, whatever the token', async () => {
      const [one, other, direct] = [
        anApprovedPayment(),
        anApprovedPayment({ asset: `0x${'77'.repeat(20)}` }),
        anApprovedPayment({}, false),
      ];
      const requester = aRequester();
      const ref = await claimed(requester, one);
      expect((await claim(requester, one)).kind).toBe('claimed');
      expect((await claim(aRequester(), other)).kind).toBe('permit_in_flight');
      expect((await claim(aRequester(), direct)).kind).toBe('claimed');
      await world.broadcast(ref, TX);
      expect((await claim(aRequester(), other)).kind).toBe('permit_in_flight');
      await world.include(ref);
      const next = await claim(aRequester(), other);
      if (next.kind !== 'claimed') throw new Error(next.kind);
      // One that comes to nothing makes room as well.
      await world.refuse({ chainId: CHAIN_ID, id: next.id }, 'erc20_approval_broadcast_failed');
      expect((await claim(aRequester(), anApprovedPayment())).kind).toBe('claimed');
    });

    it('keeps what waits for a place out of the queue of payments, and shares that by asset', async () => {
      const [asset, other]: Address[] = [`0x${'7a'.repeat(20)}`, `0x${'7b'.repeat(20)}`];
      const ask = (n: number, of = asset) =>
        claim(aRequester(), ofPayer(n, anApprovedPayment(of && { asset: of })));
      const queued = async (): Promise<number> => {
        const plain = await claim(aRequester(), aPayment());
        return plain.kind === 'claimed' ? plain.queued : -1;
      };
      const before = await queued();
      expect((await ask(0, other)).kind).toBe('claimed');
      let asked = 1;
      while ((await ask(asked)).kind === 'claimed') asked += 1;
      // A quarter of the quarter of the queue, with a thousand in all.
      expect(asked - 1).toBeLessThanOrEqual(63);
      expect((await ask(1000)).kind).toBe('queue_full');
      expect((await ask(1001, other)).kind).toBe('claimed');
      expect(await queued()).toBe(before + 1);
    });

    it('leaves a payee its share of the queue, however many deposits name it', async () => {
      const deposit = (n: number): ReturnType<typeof aPayment> => {
        const parties = { payer: BUYER, receiver: PAYER, authorizer: BUYER };
        const authorization = channelMoves(parties, n).byEip3009;
        const payment = anAcceptedPayment({ chainId: CHAIN_ID, authorization });
        const terms = termsOf(payment.chainId, payment.asset, authorization);
        return { payment, identity: { ...terms, signedTag: `deposit-${n}` } };
      };
      expect((await claim(aRequester(), aPayment())).kind).toBe('claimed');
      let asked = 0;
      while ((await claim(aRequester(), deposit(asked))).kind === 'claimed') asked += 1;
      // A quarter of the queue, with a thousand in all.
      expect(asked).toBe(250);
      expect((await claim(aRequester(), deposit(asked))).kind).toBe('queue_full');
      expect((await claim(aRequester(), aPayment())).kind).toBe('claimed');
    });

    it('gives no place again to a signed payment whose approval did not come', async () => {
      const made = ofPayer(2000, anApprovedPayment());
      const reasons: readonly Reason[] = ['no_gas', 'erc20_approval_broadcast_failed'];
      for (const reason of reasons) {
        // What the operator was short of is not held against it.
        const ref = await claimed(aRequester(), made);
        await world.refuse(ref, reason);
      }
      expect((await claim(aRequester(), made)).kind).toBe('had_its_place');
      const another = ofPayer(2000, anApprovedPayment());
      expect((await claim(aRequester(), another)).kind).toBe('claimed');
    });

    it('counts how long a payer had a place over all that it signs, also where nobody waits any more', async () => {
      const sign = (n: number) => ofPayer(n, anApprovedPayment());
      for (const payer of [2100, 2101]) {
        for (let times = 0; times < (payer === 2100 ? 3 : 2); times += 1) {
          const requester = aRequester();
          const ref = await claimed(requester, sign(payer));
          await world.holdPlace(ref, PLACE_MS / 3);
          expect((await store.leave(ref, requester, 'timeout', undefined)).kind).toBe('withdrawn');
        }
      }
      expect((await claim(aRequester(), sign(2100))).kind).toBe('had_its_place');
      expect((await claim(aRequester(), sign(2101))).kind).toBe('claimed');
      const direct = ofPayer(2100, anApprovedPayment({}, false));
      expect((await claim(aRequester(), direct)).kind).toBe('claimed');
    });

    it('counts the time of a place as well where the approval came to nothing', async () => {
      const ref = await claimed(aRequester(), ofPayer(2200, anApprovedPayment()));
      await world.holdPlace(ref, PLACE_MS);
      await world.refuse(ref, 'erc20_approval_broadcast_failed');
      const another = ofPayer(2200, anApprovedPayment());
      expect((await claim(aRequester(), another)).kind).toBe('had_its_place');
    });

    it('sells to one: the first that redeems', async () => {
      const [first, second] = [aRequester(), aRequester()];
      const ref = await claimed(first);
      await store.join(ref, second);
      await world.broadcast(ref, TX);
      expect((await store.redeem(ref, first, 'included')).kind).toBe('unpaid');
      await world.include(ref);
      expect((await store.redeem(ref, second, 'finalized')).kind).toBe('unpaid');
      const sold = await store.redeem(ref, second, 'included');
      expect(sold).toMatchObject({ kind: 'sold', view: { transaction: TX, isPaid: true } });
      expect((await store.redeem(ref, first, 'included')).kind).toBe('lost');
      expect((await store.redeem(ref, second, 'included')).kind).toBe('sold');
      expect((await store.join(ref, first)).kind).toBe('non_owner');
    });

    it('takes a sale back from its own requester alone', async () => {
      const [first, second] = [aRequester(), aRequester()];
      const ref = await included(first);
      await store.redeem(ref, first, 'included');
      expect(await store.rollBack(ref, AUTHORIZATION, second)).toBe(false);
      expect(await store.rollBack(ref, AUTHORIZATION, first)).toBe(true);
      expect(await store.rollBack(ref, AUTHORIZATION, first)).toBe(false);
    });

    it('does not take back what a second requester of the same key was told', async () => {
      const [first, second] = [aRequester({ keyTag: 'k1' }), aRequester({ keyTag: 'k1' })];
      const ref = await included(first);
      expect((await store.redeem(ref, first, 'included')).kind).toBe('sold');
      expect((await store.redeem(ref, second, 'included')).kind).toBe('sold');
      expect(await store.rollBack(ref, AUTHORIZATION, first)).toBe(false);
    });

    it('a copier who asks after the broadcast waits for the grace', async () => {
      const seller = aRequester({ address: '198.51.100.1' });
      const copier = aRequester({ address: '203.0.113.66', keyTag: 'copier' });
      const ref = await claimed(seller);
      await world.broadcast(ref, TX);
      expect((await store.join(ref, copier)).kind).toBe('waiting');
      await world.include(ref);
      expect((await store.redeem(ref, copier, 'included')).kind).toBe('not_eligible');
      await world.pass(CONTRACT_GRACE_MS);
      expect((await store.redeem(ref, copier, 'included')).kind).toBe('sold');
    });

    it.each([
      ['address', { address: '198.51.100.7' }],
      ['API key', { apiKeyId: 'seller-1' }],
    ])('a later requester with the same %s may have the sale', async (_, marks) => {
      const early = aRequester({ address: '198.51.100.8', ...marks });
      const late = aRequester({ address: '203.0.113.9', ...marks });
      const ref = await claimed(early);
      await world.broadcast(ref, TX);
      await world.include(ref);
      expect((await store.redeem(ref, late, 'included')).kind).toBe('sold');
    });

    it('a bound key is never overtaken; after the grace others hear that it is for another', async () => {
      const [holder, again] = [aRequester({ keyTag: 'k2' }), aRequester({ keyTag: 'k2' })];
      const other = aRequester();
      const ref = await claimed(holder);
      await store.join(ref, other);
      await world.broadcast(ref, TX);
      await store.leave(ref, holder, 'closed', undefined);
      await world.include(ref);
      expect((await store.redeem(ref, other, 'included')).kind).toBe('not_eligible');
      await world.pass(CONTRACT_GRACE_MS);
      expect((await store.redeem(ref, other, 'included')).kind).toBe('lost');
      expect((await store.redeem(ref, again, 'included')).kind).toBe('sold');
    });

    it('withdraws when the time of one is up and nothing was signed, and tells all alike', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const ref = await claimed(first, made);
      await store.join(ref, second);
      expect((await store.leave(ref, second, 'closed', undefined)).kind).toBe('left');
      await store.join(ref, second);
      expect((await store.leave(ref, first, 'timeout', undefined)).kind).toBe('withdrawn');
      expect(await store.join(ref, second)).toMatchObject({
        view: { state: 'withdrawn', reason: 'settlement_not_sent' },
      });
      expect((await look(made)).known).toBeUndefined();
    });

    it('withdraws when the last one hangs up, but not what is sent or known to be sent', async () => {
      const first = aRequester();
      const ref = await claimed(first);
      expect((await store.leave(ref, first, 'closed', undefined)).kind).toBe('withdrawn');
      const second = await claimed(first, aPayment());
      await world.broadcast(second, TX);
      expect((await store.leave(second, first, 'timeout', undefined)).kind).toBe('left');
      const third = await claimed(first, aPayment());
      const left = await store.leave(third, first, 'timeout', TX);
      expect(left).toMatchObject({ kind: 'left', view: { transaction: TX } });
    });

    it('a refusal is heard by all who wait, and leaves the authorization free', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const ref = await claimed(first, made);
      await store.join(ref, second);
      await world.refuse(ref, 'invalid_exact_evm_insufficient_balance');
      for (const requester of [first, second]) {
        expect(await store.join(ref, requester)).toMatchObject({
          view: { state: 'withdrawn', reason: 'invalid_exact_evm_insufficient_balance' },
        });
      }
      expect((await look(made)).known).toBeUndefined();
      expect((await claim(second, made)).kind).toBe('claimed');
    });

    it('a failed 202 keeps its own outcome when another order takes the authorization', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const ref = await claimed(first, made, true);
      expect(await look(made)).toMatchObject({ known: { sale: { state: 'sold' }, isAsync: true } });
      await world.broadcast(ref, TX);
      await world.revert(ref);
      const again = await claimed(second, made);
      expect(again.id).not.toBe(ref.id);
      await world.broadcast(again, TX);
      await world.include(again);
      expect((await store.redeem(again, second, 'included')).kind).toBe('sold');
      expect(await store.join(ref, second)).toMatchObject({
        view: { id: ref.id, state: 'reverted', isPaid: false },
      });
    });

    it('told stays told: a success that a reorg takes back is collected again, and nobody else hears it', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const ref = await included(first, made);
      await store.redeem(ref, first, 'included');
      await world.replaceBlock(ref);
      await world.revert(ref);
      expect(await look(made)).toMatchObject({
        known: { id: ref.id, state: 'queued', sale: { state: 'sold' } },
      });
      expect((await claim(second, made)).kind).toBe('known');
      expect((await store.join(ref, second)).kind).toBe('non_owner');
      expect((await store.leave(ref, second, 'timeout', undefined)).kind).toBe('left');
    });

    it('a 202 that hung up is free again', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const ref = await claimed(first, made, true);
      await store.leave(ref, first, 'closed', undefined);
      expect(await store.rollBack(ref, AUTHORIZATION, first)).toBe(true);
      expect((await claim(second, made)).kind).toBe('claimed');
    });

    it('hands a claim that is under way out to one by 202', async () => {
      const [first, second] = [aRequester(), aRequester()];
      const ref = await claimed(first);
      expect((await store.redeem(ref, second, 'async')).kind).toBe('sold');
      expect((await store.redeem(ref, first, 'async')).kind).toBe('lost');
      expect((await store.leave(ref, first, 'timeout', undefined)).kind).toBe('left');
    });

    it('keeps a claim on which no goods depend for each requester that asked for a 202', async () => {
      const made = aPayout();
      const [stranger, seller] = [aRequester({ keyTag: 'a stranger' }), aRequester()];
      const ref = await claimed(stranger, made);
      // It is kept for the key of the stranger.
      const asked = await store.redeem(ref, seller, 'async');
      expect(asked).toMatchObject({ kind: 'not_eligible', view: { isAsync: true } });
      await store.leave(ref, seller, 'closed', undefined);
      expect((await store.leave(ref, stranger, 'timeout', undefined)).kind).toBe('left');
    });

    it('keeps it also where the requester of the first 202 hung up', async () => {
      const made = aPayout();
      const [first, second] = [aRequester(), aRequester()];
      const ref = await claimed(first, made, true);
      expect((await store.redeem(ref, second, 'async')).kind).toBe('lost');
      const { authorizationId } = made.identity;
      expect(await store.rollBack(ref, authorizationId, first)).toBe(true);
      expect((await store.redeem(ref, second, 'async')).kind).toBe('sold');
    });

    it('hands nothing out by 202 of a claim that was withdrawn meanwhile', async () => {
      const [first, second] = [aRequester(), aRequester()];
      const ref = await claimed(first);
      expect((await store.leave(ref, first, 'closed', undefined)).kind).toBe('withdrawn');
      expect((await store.redeem(ref, second, 'async')).kind).toBe('over');
    });

    it('lets no more than 64 living requesters wait', async () => {
      const ref = await claimed(aRequester());
      for (let count = 1; count < 64; count += 1) {
        expect((await store.join(ref, aRequester())).kind).toBe('waiting');
      }
      expect((await store.join(ref, aRequester())).kind).toBe('too_many');
    });

    it('lets no more wait with the key that a 202 was given for', async () => {
      const keyTag = 'order';
      const ref = await claimed(aRequester({ keyTag }), aPayment(), true);
      for (let count = 1; count < 64; count += 1) {
        expect((await store.join(ref, aRequester({ keyTag }))).kind).toBe('owner');
      }
      expect((await store.join(ref, aRequester({ keyTag }))).kind).toBe('too_many');
    });

    it('lets no more wait for an action that another got a 202 for, until it is done', async () => {
      const ref = await claimed(aRequester(), aPayout(), true);
      for (let count = 1; count < 64; count += 1) {
        expect((await store.join(ref, aRequester())).kind).toBe('non_owner');
      }
      expect((await store.join(ref, aRequester())).kind).toBe('too_many');
      // Those that have left make room.
      await world.pass(5100);
      expect((await store.join(ref, aRequester())).kind).toBe('non_owner');
      await world.broadcast(ref, TX);
      await world.include(ref);
      await world.finalize(ref);
      for (let count = 0; count < 64; count += 1) {
        expect((await store.join(ref, aRequester())).kind).toBe('non_owner');
      }
    });

    it('a waiter that shows no life for five seconds is not waited for', async () => {
      const made = aPayment();
      await claimed(aRequester(), made);
      await world.pass(5100);
      expect((await look(made)).isWaitedFor).toBe(false);
    });

    it('binds an idempotency key to one payment', async () => {
      const [first, second] = [aRequester({ keyTag: `key-${Date.now()}` }), aRequester()];
      const same = { ...second, keyTag: first.keyTag };
      const [made, other] = [aPayment(), aPayment()];
      const payment = boundPaymentOf(CHAIN_ID, made.identity);
      expect((await store.bind(first, payment)).kind).toBe('bound');
      expect((await store.bind(same, payment)).kind).toBe('bound');
      const conflict = await store.bind(same, boundPaymentOf(CHAIN_ID, other.identity));
      expect(conflict).toMatchObject({ kind: 'other', binding: payment });
      // The newest requester holds it, and gives it up alone.
      await store.unbind(first, payment);
      expect(await store.bindingOf(first.keyTag)).toMatchObject(payment);
      await store.unbind(same, payment);
      expect(await store.bindingOf(first.keyTag)).toBeUndefined();
    });

    it('hands an abandoned idempotency key over, to one', async () => {
      const first = aRequester({ keyTag: `left-${Date.now()}` });
      const [second, third] = [aRequester(), aRequester()].map((one) => ({
        ...one,
        keyTag: first.keyTag,
      }));
      if (second === undefined || third === undefined) throw new Error('two requesters');
      await store.bind(first, boundPaymentOf(CHAIN_ID, aPayment().identity));
      const left = await store.bindingOf(first.keyTag);
      if (left === undefined) throw new Error('it is bound');
      const next = boundPaymentOf(CHAIN_ID, aPayment().identity);
      expect(await store.takeOver(second, next, left)).toBe(true);
      // The first reply may have been lost.
      expect(await store.takeOver(second, next, left)).toBe(true);
      expect(await store.takeOver(third, next, left)).toBe(false);
    });

    it('adopts a payment of ours that the ledger lost, for one requester', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const { payment, identity } = made;
      const lost = { ...store.refOf(payment, identity, first), identity };
      const adoption = { ...lost, transaction: TX, blockNumber: 7n, blockHash: TX };
      const adopted = await store.adopt(first, { ...adoption, logIndex: 0 });
      expect(adopted).toMatchObject({
        kind: 'sold',
        view: { state: 'finalized', isPaid: true, transaction: TX },
      });
      // One that waited for the same claim.
      expect(await store.adopt(second, { ...adoption, logIndex: 0 })).toEqual({ kind: 'known' });
      const other = { ...adoption, ...store.refOf(payment, identity, second), logIndex: 0 };
      expect(await store.adopt(second, other)).toEqual({ kind: 'known' });
      expect((await claim(second, made)).kind).toBe('known');
    });

    it('adopts a lost payment for two requesters of one key, and neither of them takes it back', async () => {
      const keyTag = `key-${requesters}`;
      const [first, second] = [aRequester({ keyTag }), aRequester({ keyTag })];
      const { payment, identity } = aPayment();
      const block = { transaction: TX, blockNumber: 7n, blockHash: TX, logIndex: 0 };
      const adoption = { ...store.refOf(payment, identity, first), ...block, identity };
      for (const requester of [first, second]) {
        expect((await store.adopt(requester, adoption)).kind).toBe('sold');
      }
      expect(await store.rollBack(adoption, identity.authorizationId, first)).toBe(false);
    });

    it('says that it may lack claims once it went back', async () => {
      expect((await look(aPayment())).hasGoneBack).toBe(false);
      await world.goBackBeforeSale(await claimed(aRequester()));
      expect((await look(aPayment())).hasGoneBack).toBe(true);
    });

    it('adopts nothing before every process that lived has said what it told, nor what it told another', async () => {
      const [first, second] = [aRequester(), aRequester()];
      const process = `told${first.id}`;
      await store.heartbeat(CHAIN_ID, process, () => true);
      await world.goBackBeforeSale(await claimed(aRequester()), 2 * RESTATE_MS);
      const adopt = (requester: Requester, { payment, identity }: ReturnType<typeof aPayment>) => {
        const ref = store.refOf(payment, identity, first);
        const block = { transaction: TX, blockNumber: 7n, blockHash: TX, logIndex: 0 };
        return store.adopt(requester, { ...ref, ...block, identity });
      };
      const [acknowledged, unacknowledged] = [aPayment(), aPayment()];
      expect(await adopt(second, acknowledged)).toEqual({ kind: 'not_yet' });
      const ref = store.refOf(acknowledged.payment, acknowledged.identity, first);
      const { authorizationId } = acknowledged.identity;
      const sale = { ref, authorizationId, requester: first, isAccepted: false };
      expect(await store.replaySale(sale)).toBe(false);
      expect(await adopt(first, acknowledged)).toEqual({ kind: 'not_yet' });
      await store.heartbeat(CHAIN_ID, process, () => true);
      expect(await adopt(second, acknowledged)).toEqual({ kind: 'known' });
      expect((await adopt(second, unacknowledged)).kind).toBe('sold');
      expect((await adopt(first, acknowledged)).kind).toBe('sold');
      expect(await adopt(second, acknowledged)).toEqual({ kind: 'known' });
    });

    describe('a claim that the ledger lost, of which a requester was told', () => {
      const lost = async (made: ReturnType<typeof aPayment>, requester: Requester) => {
        const ref = store.refOf(made.payment, made.identity, requester);
        const { authorizationId } = made.identity;
        const sale = { ref, authorizationId, requester, isAccepted: true };
        expect(await store.replaySale(sale)).toBe(false);
        return ref;
      };

      it('is claimed for that requester, whoever sends the payment again, and sold to nobody else', async () => {
        const [first, second, made] = [aRequester(), aRequester(), aPayment()];
        await lost(made, first);
        // Its first reply may have been lost.
        for (const isAccepted of [true, true, false]) {
          expect((await claim(second, made, isAccepted)).kind).toBe('acknowledged_to_another');
        }
        const ref = store.refOf(made.payment, made.identity, second);
        expect((await look(made)).known).toMatchObject({ id: ref.id });
        expect((await claim(aRequester(), made, true)).kind).toBe('known');
        expect((await store.join(ref, first)).kind).toBe('owner');
        expect((await store.redeem(ref, second, 'async')).kind).toBe('lost');
        expect((await store.redeem(ref, first, 'async')).kind).toBe('sold');
      });

      it('is handed out by no repeated claim once its requester has taken it back', async () => {
        const [first, second, waiting, made] = [
          aRequester(),
          aRequester(),
          aRequester(),
          aPayment(),
        ];
        await lost(made, first);
        expect((await claim(second, made, true)).kind).toBe('acknowledged_to_another');
        const ref = store.refOf(made.payment, made.identity, second);
        await world.broadcast(ref, TX);
        expect(await store.rollBack(ref, made.identity.authorizationId, first)).toBe(true);
        expect((await claim(second, made, true)).kind).toBe('known');
        expect((await claim(second, made, false)).kind).toBe('claimed');
        // It is sold by the step that sells, to one.
        await world.include(ref);
        await world.pass(CONTRACT_GRACE_MS);
        expect((await store.redeem(ref, waiting, 'async')).kind).toBe('sold');
        expect((await claim(second, made, true)).kind).toBe('acknowledged_to_another');
      });

      it('is looked up with the key of that requester, with and without another claim', async () => {
        const [first, second, made] = [aRequester({ keyTag: 'k' }), aRequester(), aPayment()];
        expect((await look(made)).acknowledgedKeyTag).toBeUndefined();
        await lost(made, first);
        expect(await look(made)).toMatchObject({ known: undefined, acknowledgedKeyTag: 'k' });
        const other = aPayment();
        const ref = await included(second, other);
        await lost(other, aRequester());
        expect(await look(other)).toMatchObject({ known: { id: ref.id }, acknowledgedKeyTag: '' });
      });

      it('is claimed by another requester with the same key', async () => {
        const [first, second] = [aRequester({ keyTag: 'k' }), aRequester({ keyTag: 'k' })];
        const made = aPayment();
        await lost(made, first);
        expect((await claim(second, made)).kind).toBe('claimed');
      });

      it('stays with its key where two requesters of it had success, and the answer of one did not arrive', async () => {
        for (const broken of [0, 1] as const) {
          const keyTag = `key-${requesters}`;
          const [first, second, other, made] = [
            aRequester({ keyTag }),
            aRequester({ keyTag }),
            aRequester(),
            aPayment(),
          ];
          const ref = await lost(made, first);
          const { authorizationId } = made.identity;
          const sale = { ref, authorizationId, requester: second, isAccepted: true };
          expect(await store.replaySale(sale)).toBe(false);
          const gone = [first, second][broken];
          if (gone === undefined) throw new Error('one of the two');
          expect(await store.rollBack(ref, authorizationId, gone)).toBe(false);
          expect((await claim(other, made, true)).kind).toBe('acknowledged_to_another');
          // Neither when it was claimed again.
          const again = store.refOf(made.payment, made.identity, other);
          for (const requester of [first, second]) {
            expect(await store.rollBack(again, authorizationId, requester)).toBe(false);
          }
          expect((await store.redeem(again, other, 'async')).kind).toBe('lost');
          expect((await store.redeem(again, aRequester({ keyTag }), 'async')).kind).toBe('sold');
        }
      });

      it('stays with its key where the claim comes back as the ledger had it before', async () => {
        const keyTag = `key-${requesters}`;
        const [first, second, made] = [aRequester({ keyTag }), aRequester({ keyTag }), aPayment()];
        const ref = store.refOf(made.payment, made.identity, first);
        const { authorizationId } = made.identity;
        const sale = { ref, authorizationId, isAccepted: true };
        for (const requester of [first, second]) {
          expect(await store.replaySale({ ...sale, requester })).toBe(false);
        }
        await claimed(first, made);
        // The second one is of another process, which does not repeat it.
        expect(await store.replaySale({ ...sale, requester: first })).toBe(true);
        expect(await store.rollBack(ref, authorizationId, first)).toBe(false);
      });

      it('is sold to no other requester that had claimed it again by then', async () => {
        const [first, second, made] = [aRequester(), aRequester(), aPayment()];
        const ref = await included(second, made);
        await lost(made, first);
        expect((await store.redeem(ref, second, 'included')).kind).toBe('lost');
      });

      it('is free again when the answer did not arrive', async () => {
        const [first, second, made] = [aRequester(), aRequester(), aPayment()];
        const ref = await lost(made, first);
        const { authorizationId } = made.identity;
        expect(await store.rollBack(ref, authorizationId, second)).toBe(false);
        expect((await claim(second, made)).kind).toBe('acknowledged_to_another');
        expect(await store.rollBack(ref, authorizationId, first)).toBe(true);
        // Right after the start of a ledger nothing is withdrawn: the claim is open then, and another requester may have it.
        const other = aRequester();
        const { kind } = await claim(other, made);
        const madeAgain = store.refOf(made.payment, made.identity, second);
        const isFree =
          kind === 'claimed' || (await store.join(madeAgain, other)).kind === 'waiting';
        expect(isFree).toBe(true);
      });

      it('is free again when it came back and ended unpaid', async () => {
        const [first, second, made] = [aRequester(), aRequester(), aPayment()];
        const ref = await lost(made, first);
        await claimed(first, made, true);
        await world.refuse(ref, 'no_gas');
        const { authorizationId } = made.identity;
        const sale = { ref, authorizationId, requester: first, isAccepted: true };
        expect(await store.replaySale(sale)).toBe(true);
        expect((await claim(second, made)).kind).toBe('claimed');
      });
    });

    describe('a payment that is final and not sold', () => {
      async function paid(requester: Requester, made = aPayment()): Promise<ClaimRef> {
        const ref = await claimed(requester, made);
        await world.broadcast(ref, TX);
        await world.include(ref);
        return ref;
      }

      it('is unclaimed after a while, and no longer once its requester comes back with its key', async () => {
        const keyTag = `key-${requesters}`;
        const ref = await paid(aRequester({ keyTag }));
        await world.pass(CONTRACT_UNCLAIMED_MS + 1);
        expect(await world.unclaimed()).not.toContain(ref.id);
        await world.finalize(ref);
        expect(await world.unclaimed()).not.toContain(ref.id);
        await world.pass(CONTRACT_UNCLAIMED_MS + 1);
        expect(await world.unclaimed()).toContain(ref.id);
        expect((await store.redeem(ref, aRequester({ keyTag }), 'included')).kind).toBe('sold');
        expect(await world.unclaimed()).not.toContain(ref.id);
      });

      it('is not where it was sold before, and is where its answer did not arrive', async () => {
        const [requester, made] = [aRequester(), aPayment()];
        const ref = await paid(requester, made);
        await store.redeem(ref, requester, 'included');
        await world.finalize(ref);
        await world.pass(CONTRACT_UNCLAIMED_MS + 1);
        expect(await world.unclaimed()).not.toContain(ref.id);
        await store.rollBack(ref, made.identity.authorizationId, requester);
        expect(await world.unclaimed()).not.toContain(ref.id);
        await world.pass(CONTRACT_UNCLAIMED_MS + 1);
        expect(await world.unclaimed()).toContain(ref.id);
      });

      it('is not where no goods depend on it, sold before or never', async () => {
        const [requester, made] = [aRequester(), aPayout()];
        const [ref, unsold] = [await paid(requester, made), await paid(aRequester(), aPayout())];
        await store.redeem(ref, requester, 'included');
        for (const one of [ref, unsold]) await world.finalize(one);
        expect(await store.rollBack(ref, made.identity.authorizationId, requester)).toBe(true);
        await world.pass(CONTRACT_UNCLAIMED_MS + 1);
        const unclaimed = await world.unclaimed();
        expect([ref.id, unsold.id].filter((id) => unclaimed.includes(id))).toEqual([]);
      });

      it('is not where a process says again that it sold it, or where it failed', async () => {
        const [requester, made] = [aRequester(), aPayment()];
        const [ref, failed] = [await paid(requester, made), await claimed(aRequester())];
        await world.finalize(ref);
        await world.broadcast(failed, TX);
        await world.revert(failed);
        await world.pass(CONTRACT_UNCLAIMED_MS + 1);
        expect(await world.unclaimed()).toContain(ref.id);
        const { authorizationId } = made.identity;
        await store.replaySale({ ref, authorizationId, requester, isAccepted: false });
        const unclaimed = await world.unclaimed();
        expect([ref.id, failed.id].filter((id) => unclaimed.includes(id))).toEqual([]);
      });

      it('is not where another claim of it, which the ledger lost, was told of: that requester has it', async () => {
        const [first, second, made] = [aRequester(), aRequester(), aPayment()];
        const { authorizationId } = made.identity;
        const lost = store.refOf(made.payment, made.identity, first);
        const ref = await paid(second, made);
        const sale = { ref: lost, authorizationId, requester: first, isAccepted: false };
        expect(await store.replaySale(sale)).toBe(false);
        await world.finalize(ref);
        await world.pass(CONTRACT_UNCLAIMED_MS + 1);
        expect(await world.unclaimed()).not.toContain(ref.id);
        expect((await look(made)).known?.sale).toMatchObject({ state: 'sold' });
        expect((await store.redeem(ref, first, 'included')).kind).toBe('sold');
        expect(await store.rollBack(lost, authorizationId, first)).toBe(true);
        await world.pass(CONTRACT_UNCLAIMED_MS + 1);
        expect(await world.unclaimed()).toContain(ref.id);
      });

      it('is not while a process may still say again that it sold it', async () => {
        const [requester, made] = [aRequester(), aPayment()];
        const ref = await paid(requester, made);
        await world.finalize(ref);
        await store.redeem(ref, requester, 'included');
        await world.goBackBeforeSale(ref);
        await world.pass(CONTRACT_UNCLAIMED_MS + 1);
        expect(await world.unclaimed()).not.toContain(ref.id);
      });
    });

    it('is told again what was sold when the ledger went back, before anybody else is', async () => {
      const [first, second] = [aRequester(), aRequester()];
      const ref = await claimed(first);
      await store.join(ref, second);
      await world.broadcast(ref, TX);
      await world.include(ref);
      await store.redeem(ref, first, 'included');
      await world.goBackBeforeSale(ref);
      expect((await store.redeem(ref, second, 'included')).kind).toBe('not_yet');
      expect(
        await store.replaySale({
          ref,
          authorizationId: AUTHORIZATION,
          requester: first,
          isAccepted: false,
        }),
      ).toBe(true);
      expect(
        await store.replaySale({
          ref,
          authorizationId: AUTHORIZATION,
          requester: second,
          isAccepted: false,
        }),
      ).toBe(false);
      expect((await store.redeem(ref, second, 'included')).kind).toBe('lost');
    });

    it('does not take back a sale to two requesters of a key from before the ledger went back', async () => {
      const keyTag = `key-${requesters}`;
      const [first, second] = [aRequester({ keyTag }), aRequester({ keyTag })];
      const ref = await included(first);
      await world.goBackBeforeSale(ref);
      for (const requester of [second, first]) {
        const sale = { ref, authorizationId: AUTHORIZATION, requester, isAccepted: false };
        expect(await store.replaySale(sale)).toBe(true);
      }
      expect(await store.rollBack(ref, AUTHORIZATION, second)).toBe(false);
      expect(await store.rollBack(ref, AUTHORIZATION, first)).toBe(false);
    });

    it('sells nothing older before every process that lived has said again what it told', async () => {
      const [first, second] = [aRequester(), aRequester()];
      const [late, other] = [`late${first.id}`, `other${first.id}`];
      const beat = (processId: string, hasReplayed: boolean) =>
        store.heartbeat(CHAIN_ID, processId, () => hasReplayed);
      await Promise.all([beat(late, true), beat(other, true)]);
      const ref = await claimed(first);
      await store.join(ref, second);
      await world.broadcast(ref, TX);
      await world.include(ref);
      await store.redeem(ref, first, 'included');
      // Longer ago than what is waited for in any case.
      await world.goBackBeforeSale(ref, 2 * RESTATE_MS);
      await beat(other, true);
      await beat(late, false);
      expect((await store.redeem(ref, second, 'included')).kind).toBe('not_yet');
      expect(
        await store.replaySale({
          ref,
          authorizationId: AUTHORIZATION,
          requester: first,
          isAccepted: false,
        }),
      ).toBe(true);
      await beat(late, true);
      expect((await store.redeem(ref, second, 'included')).kind).toBe('lost');
    });

    it('waits for no process that ended after it had written everything', async () => {
      const [first, second] = [aRequester(), aRequester()];
      const ended = `ended${first.id}`;
      await store.heartbeat(CHAIN_ID, ended, () => true);
      const ref = await claimed(first);
      await store.join(ref, second);
      await world.broadcast(ref, TX);
      await world.include(ref);
      await store.depart(CHAIN_ID, ended, () => true);
      await world.goBackBeforeSale(ref, 2 * RESTATE_MS);
      expect((await store.redeem(ref, second, 'included')).kind).toBe('sold');
    });

    it('waits for one that ended before it had replayed what it wrote', async () => {
      const [first, second] = [aRequester(), aRequester()];
      const ended = `ended${first.id}`;
      await store.heartbeat(CHAIN_ID, ended, () => true);
      const ref = await claimed(first);
      await store.join(ref, second);
      await world.broadcast(ref, TX);
      await world.include(ref);
      await world.goBackBeforeSale(ref, 2 * RESTATE_MS);
      await store.depart(CHAIN_ID, ended, () => false);
      expect((await store.redeem(ref, second, 'included')).kind).toBe('not_yet');
    });

    it('sells no newer claim before every process that lived has replayed its sales of lost claims', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const process = `late${first.id}`;
      await store.heartbeat(CHAIN_ID, process, () => true);
      await world.goBackBeforeSale(await claimed(aRequester()), 2 * RESTATE_MS);
      expect((await claim(second, made, true)).kind).toBe('not_yet');
      expect(await look(made)).toMatchObject({ known: undefined });
      // It is collected meanwhile.
      const ref = await included(second, made);
      expect((await claim(second, made, true)).kind).toBe('known');
      for (const at of ['included', 'async'] as const) {
        expect((await store.redeem(ref, second, at)).kind).toBe('not_yet');
      }
      const lost = store.refOf(made.payment, made.identity, first);
      const { authorizationId } = made.identity;
      const sale = { ref: lost, authorizationId, requester: first, isAccepted: true };
      expect(await store.replaySale(sale)).toBe(false);
      await store.heartbeat(CHAIN_ID, process, () => true);
      expect((await store.redeem(ref, second, 'included')).kind).toBe('lost');
      expect((await claim(second, aPayment(), true)).kind).toBe('claimed');
      await world.pass(CONTRACT_GRACE_MS);
      expect((await store.redeem(ref, first, 'async')).kind).toBe('sold');
    });

    it('sells nothing for a moment after the ledger went back, whichever processes it knows of', async () => {
      const [requester, made] = [aRequester(), aPayment()];
      await world.goBackBeforeSale(await claimed(aRequester()));
      expect((await claim(requester, made, true)).kind).toBe('not_yet');
      const ref = await claimed(requester, made);
      expect((await store.redeem(ref, requester, 'async')).kind).toBe('not_yet');
    });

    it('is not told again of a 202 whose claim has ended unpaid', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const over = await claimed(first, made, true);
      await world.refuse(over, 'invalid_exact_evm_insufficient_balance');
      const live = await claimed(second, made, true);
      const sale = {
        ref: over,
        authorizationId: AUTHORIZATION,
        requester: first,
        isAccepted: true,
      };
      expect(await store.replaySale(sale)).toBe(true);
      expect(await look(made)).toMatchObject({ known: { id: live.id } });
    });

    it('withdraws again what was told withdrawn when the ledger went back, and lets it be claimed anew', async () => {
      const [first, second, made] = [aRequester(), aRequester(), aPayment()];
      const ref = await claimed(first, made);
      await store.join(ref, second);
      await world.pass(5);
      await world.goBackBeforeSale(ref);
      const withdrawal = { ref, reason: 'settlement_not_sent' } as const;
      expect(await store.replayWithdrawal(withdrawal)).toBe(true);
      expect(await store.replayWithdrawal(withdrawal)).toBe(true);
      expect(await store.join(ref, second)).toMatchObject({
        view: { state: 'withdrawn', reason: 'settlement_not_sent', transaction: undefined },
      });
      const again = await claimed(second, made);
      expect(again.id).not.toBe(ref.id);
      expect(await look(made)).toMatchObject({ known: { id: again.id, state: 'queued' } });
    });

    it('does not withdraw again what was signed since, what is handed out, or what it does not know', async () => {
      const [first, reason] = [aRequester(), 'settlement_not_sent' as const];
      const [sent, handedOut] = [await claimed(first), await claimed(first, aPayment(), true)];
      await world.broadcast(sent, TX);
      await world.goBackBeforeSale(sent);
      expect(await store.replayWithdrawal({ ref: sent, reason })).toBe(false);
      expect(await store.replayWithdrawal({ ref: handedOut, reason })).toBe(false);
      expect((await store.join(sent, first)).kind).not.toBe('gone');
      const unknown = { ...sent, id: `${sent.id.slice(0, -1)}_` };
      expect(await store.replayWithdrawal({ ref: unknown, reason })).toBe(true);
    });

    it('does not withdraw again what somebody was told success of, and calls nothing sent that has ended', async () => {
      const [first, reason] = [aRequester(), 'settlement_not_sent' as const];
      const sold = await claimed(first);
      await world.goBackBeforeSale(sold);
      expect(
        await store.replaySale({
          ref: sold,
          authorizationId: AUTHORIZATION,
          requester: first,
          isAccepted: false,
        }),
      ).toBe(true);
      expect(await store.replayWithdrawal({ ref: sold, reason })).toBe(false);
      const refused = await claimed(first);
      await world.refuse(refused, 'invalid_exact_evm_insufficient_balance');
      expect(await store.replayWithdrawal({ ref: refused, reason })).toBe(true);
      expect(await store.join(refused, first)).toMatchObject({
        view: { state: 'withdrawn', reason: 'invalid_exact_evm_insufficient_balance' },
      });
    });

    it('withdraws nothing older while the ledger went back a moment ago', async () => {
      const first = aRequester();
      const ref = await claimed(first);
      await world.pass(5);
      await world.goBackBeforeSale(ref);
      expect((await store.leave(ref, first, 'timeout', undefined)).kind).toBe('unsure');
    });

    it('withdraws nothing older however long ago the ledger went back', async () => {
      const first = aRequester();
      const ref = await claimed(first);
      await world.pass(5);
      await world.goBackBeforeSale(ref, 2 * UNSURE_MS);
      expect((await store.leave(ref, first, 'timeout', undefined)).kind).toBe('unsure');
      const later = await claimed(first);
      expect((await store.leave(later, first, 'timeout', undefined)).kind).toBe('withdrawn');
    });

    it('withdraws nothing that was claimed soon after the ledger went back', async () => {
      const [first, second] = [aRequester(), aRequester()];
      await world.goBackBeforeSale(await claimed(first));
      const ref = await claimed(second);
      expect((await store.leave(ref, second, 'timeout', undefined)).kind).toBe('unsure');
    });

    describe('where less than what was signed may be settled', () => {
      it('keeps the amount that the first settle bound, also when it is finished', async () => {
        const made = anUpto(400n);
        const ref = await claimed(aRequester(), made);
        expect(await look(made)).toMatchObject({ known: { settledAmount: 400n } });
        expect((await claim(aRequester(), anUptoAgain(made, 500n))).kind).toBe('known');
        await world.broadcast(ref, TX);
        await world.include(ref);
        await world.finalize(ref);
        expect(await look(made)).toMatchObject({
          known: { state: 'finalized', settledAmount: 400n },
        });
        expect((await look(aPayment())).known?.settledAmount).toBeUndefined();
      });

      it('settles nothing at once: paid without a transaction, sold once, never claimed again', async () => {
        const [first, second, made] = [aRequester(), aRequester(), anUpto(0n)];
        const ref = await claimed(first, made);
        expect(await claimed(first, made)).toEqual(ref);
        expect(await look(made)).toMatchObject({
          known: { state: 'finalized', isPaid: true, transaction: undefined, settledAmount: 0n },
        });
        expect((await store.redeem(ref, first, 'finalized')).kind).toBe('sold');
        expect((await store.redeem(ref, second, 'finalized')).kind).toBe('lost');
        expect((await claim(second, anUptoAgain(made, 400n))).kind).toBe('known');
      });

      it('gives what was settled for nothing to another one when its answer did not arrive', async () => {
        const [first, second, made] = [aRequester(), aRequester(), anUpto(0n)];
        const ref = await claimed(first, made);
        await store.redeem(ref, first, 'included');
        expect(await store.rollBack(ref, AUTHORIZATION, first)).toBe(true);
        expect((await claim(second, anUptoAgain(made, 400n))).kind).toBe('known');
        expect((await store.redeem(ref, second, 'included')).kind).toBe('sold');
      });

      it('hands it out by a 202, as paid', async () => {
        const [first, made] = [aRequester(), anUpto(0n)];
        await claimed(first, made, true);
        expect(await look(made)).toMatchObject({
          known: { isPaid: true, sale: { state: 'sold', requester: first.id } },
        });
      });
    });
  });
}

/** An `upto` payment that was never presented. @param amount - that is settled. */
export function anUpto(
  amount: bigint,
  overrides: Parameters<typeof anUptoAuthorization>[0] = {},
): ReturnType<typeof aPayment> {
  payments += 1;
  // Its payer is at home where the lane that it names is.
  const terms = { nonce: BigInt(payments), from: PAYER, ...overrides };
  const authorization = anUptoAuthorization(terms);
  const payment = anAcceptedUpto({ chainId: CHAIN_ID, amount, authorization });
  const identity = termsOf(payment.chainId, payment.asset, authorization);
  return { payment, identity: { ...identity, signedTag: `signed-${payments}` } };
}

/** The same authorization for another amount. */
function anUptoAgain(made: ReturnType<typeof aPayment>, amount: bigint) {
  return { ...made, payment: { ...made.payment, amount } };
}

function tags({ identity }: ReturnType<typeof aPayment>) {
  return { termsTag: identity.termsTag, signedTag: identity.signedTag };
}
