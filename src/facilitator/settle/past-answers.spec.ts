import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { aSettleService } from '../../../test/builders/facilitator/settle-service.js';
import {
  anAcceptedPayment,
  anEip3009Authorization,
} from '../../../test/builders/protocol/payment/accepted-payment.js';
import { anEip3009Payment } from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { FakeArchive } from '../../../test/builders/settlement/ledger/settlement-archive.js';
import { aSettlementView } from '../../../test/builders/settlement/model/settlement-view.js';
import { MemoryLabelStore } from '../../../test/twins/settlement/ledger/memory-label-store.js';
import { MemorySettlementStore } from '../../../test/twins/settlement/ledger/memory-settlement-store.js';
import { identityOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import { credentialsOf } from '../../settlement/ledger/requester.js';
import type { SettlementView } from '../../settlement/model/settlement.js';
import type { Match, Verification } from '../verify/payment-verifier.js';
import type { SettleAnswer } from './settle-answer.js';

/** By which it was paid, and which a search of the chain finds. */
const TX: Hex = `0x${'5f'.repeat(32)}`;
const FOUND: Hex = `0x${'6a'.repeat(32)}`;
const USED: Reason = 'invalid_exact_evm_nonce_already_used';
const LATE: Reason = 'invalid_exact_evm_payload_authorization_valid_before';
const DUPLICATE: Reason = 'duplicate_settlement';

const { payment } = anEip3009Payment();
const { chainId } = payment.requirements;
const identity = namesOf(payment);
const WAIT_MS = 1000;

function namesOf(one: Payment): PaymentIdentity {
  const names = identityOf(one);
  if (names === undefined) throw new Error('no wallet can have signed it');
  return names;
}

const sold = (sale: Partial<SettlementView['sale']> = {}) =>
  aSettlementView({
    id: 'past',
    state: 'finalized',
    isPaid: true,
    transaction: TX,
    termsTag: identity.termsTag,
    sale: { state: 'sold', requester: 'gone.1', soldKeyTag: 'order', ...sale },
  });

describe('a settle of a payment that the chain refuses and the ledger does not know', () => {
  let archive: FakeArchive;
  let store: MemorySettlementStore;
  let reason: Reason | undefined;
  let isUsed: boolean | undefined;
  let found: Hex | undefined;
  let isPaid: boolean;
  let match: Match;
  let signature: 'good' | 'bad';
  let isDone: boolean;
  /** When the request of the last search is to be answered. */
  let searchedUntil: number | undefined;

  beforeEach(() => {
    searchedUntil = undefined;
    archive = new FakeArchive();
    store = new MemorySettlementStore(() => Date.now(), 60_000);
    [isPaid, isDone] = [false, false];
    [reason, isUsed, found, match, signature] = [USED, true, FOUND, { kind: 'same' }, 'good'];
  });

  const add = (view: SettlementView) => {
    archive.add(view, identity.authorizationId, chainId);
  };

  async function settle(
    keyTag = '',
    { isAsync = false, of = payment }: { isAsync?: boolean; of?: Payment } = {},
  ): Promise<SettleAnswer | undefined> {
    const bad: Verification = {
      isValid: false,
      reason: 'invalid_exact_evm_signature',
      isFromChainState: false,
    };
    const good: Verification = {
      isValid: true,
      authorization: anEip3009Authorization(),
      payerHasCode: false,
      means: { balance: undefined, allowance: undefined },
      isDone,
    };
    const service = aSettleService({
      store,
      labels: new MemoryLabelStore(),
      events: { listen: () => () => undefined },
      admission: { refusal: () => Promise.resolve('no_gas') },
      verifier: {
        verify: () =>
          Promise.resolve(reason === undefined ? good : { ...bad, reason, isFromChainState: true }),
        verifyTerms: () => Promise.resolve(signature === 'good' ? good : bad),
        match: () => Promise.resolve(match),
      },
      archive,
      finder: {
        until: (deadlineAt) => (searchedUntil = deadlineAt) ?? 0,
        isUsed: () => Promise.resolve(isUsed),
        userOf: () => Promise.resolve(found && { transaction: found, isPaid }),
      },
      lostClaims: { adopt: () => Promise.resolve(undefined) },
      addJob: () => undefined,
      onTrouble: () => undefined,
      chainId,
      waitMs: WAIT_MS,
    });
    return service.settle({
      payment: of,
      keyTag,
      isAsync,
      finality: 'included',
      arrivedAt: Date.now(),
      credentials: credentialsOf({ keyTag, apiKeyId: undefined, address: '198.51.100.1' }),
      connection: { isWritable: true, closed: new Promise(() => undefined) },
    });
  }
  const bodyOf = async (...asked: Parameters<typeof settle>) => (await settle(...asked))?.body;

  it('is answered with success where it was sold to this key, and that sells nothing', async () => {
    add(sold());
    const answer = await settle('order');
    expect(answer).toMatchObject({
      status: 200,
      settlementId: 'past',
      finality: 'finalized',
      body: { success: true, transaction: TX },
    });
    expect(answer?.rollBack).toBeUndefined();
  });

  it('is searched for no longer than its requester waits', async () => {
    const before = Date.now();
    await settle();
    const left = (searchedUntil ?? Infinity) - before;
    expect([left >= WAIT_MS, left < WAIT_MS + 1000]).toEqual([true, true]);
  });

  it('has the transaction of its settlement where the chain shows it done', async () => {
    [reason, isDone] = [undefined, true];
    add(sold());
    expect(await bodyOf('order')).toMatchObject({ success: true, transaction: TX });
    archive.isAway = true;
    expect(await bodyOf('order')).toMatchObject({ success: true, transaction: '' });
  });

  it('is answered with 202 again where it was sold to this key', async () => {
    add(sold());
    const answer = await settle('order', { isAsync: true });
    expect(answer).toMatchObject({ status: 202, body: { transaction: TX } });
  });

  it.each(['', 'another order'])('is a duplicate to everybody else, key "%s"', async (keyTag) => {
    add(sold());
    expect(await bodyOf(keyTag)).toMatchObject({
      success: false,
      errorReason: DUPLICATE,
      transaction: TX,
    });
  });

  it('is no success to a requester without a key because it was sold without one', async () => {
    add(sold({ soldKeyTag: undefined }));
    expect(await bodyOf()).toMatchObject({ success: false, errorReason: DUPLICATE });
  });

  it('is refused to a liar, who holds the key and shows another signature', async () => {
    add(sold());
    match = { kind: 'refused', reason: 'invalid_exact_evm_signature' };
    expect(await bodyOf('order')).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_signature',
      transaction: '',
    });
  });

  it('is a duplicate where other terms of its authorization were sold', async () => {
    add(sold());
    match = { kind: 'other_terms' };
    expect(await bodyOf('another order')).toMatchObject({
      errorReason: DUPLICATE,
      transaction: '',
    });
  });

  it('is refused for the amount that another settle has bound', async () => {
    add({ ...sold(), settledAmount: payment.requirements.amount + 1n });
    expect(await bodyOf('order')).toMatchObject({ errorReason: DUPLICATE, transaction: TX });
  });

  it('gets the reason of the failure, with the hash', async () => {
    add({ ...sold({ state: 'open' }), state: 'foreign', isPaid: false, reason: USED });
    expect(await bodyOf('order')).toMatchObject({ errorReason: USED, transaction: TX });
  });

  it('gets its transaction where its deadline has passed unpaid', async () => {
    [reason, isUsed] = [LATE, false];
    add({ ...sold({ state: 'open' }), state: 'expired', isPaid: false, reason: LATE });
    expect(await bodyOf()).toMatchObject({ errorReason: LATE, transaction: TX });
  });

  it.each<[string, SettlementView['state'], boolean]>([
    ['is used, and reverted before', 'reverted', true],
    ['is used, and was on its way when the ledger was lost', 'broadcast', true],
    ['is late, and was paid', 'finalized', false],
  ])('is answered from the chain where it %s', async (_, state, chainSaysUsed) => {
    [reason, isUsed] = [chainSaysUsed ? USED : LATE, chainSaysUsed];
    add({ ...sold(), state, isPaid: state === 'finalized' });
    expect(await bodyOf('order')).toMatchObject({
      errorReason: reason,
      transaction: chainSaysUsed ? FOUND : '',
    });
  });

  it('is never sold by the archive: the last answers of the ledger may be lost with it', async () => {
    add(sold({ state: 'open', requester: undefined, soldKeyTag: undefined }));
    found = undefined;
    expect(await bodyOf()).toMatchObject({ success: false, errorReason: USED, transaction: TX });
  });

  it('is no reason to pay again where a stranger’s transaction paid exactly this', async () => {
    isPaid = true;
    expect(await settle()).toMatchObject({
      paidBy: FOUND,
      body: { success: false, errorReason: USED, transaction: FOUND },
    });
    isPaid = false;
    expect(await settle()).not.toHaveProperty('paidBy');
  });

  it('is late, and its use cannot be read: only facts of the archive are answered', async () => {
    [reason, isUsed] = [LATE, undefined];
    expect(await bodyOf('order')).toMatchObject({ errorReason: 'network_unavailable' });
    add(sold());
    expect(await bodyOf('order')).toMatchObject({ success: true, transaction: TX });
  });

  it('is no reason to pay again where the transaction that used it is not found', async () => {
    found = undefined;
    expect(await settle()).toMatchObject({ paidBy: 'unknown', body: { errorReason: USED } });
  });

  it('is used, with the hash that the chain knows, where the archive does not know it', async () => {
    expect(await bodyOf('order')).toMatchObject({ errorReason: USED, transaction: FOUND });
    expect(archive.asked.sort()).toEqual(['authorization', 'key']);
  });

  it('is not denied to who may have bought it while the archive is away', async () => {
    add(sold());
    archive.isAway = true;
    expect(await bodyOf('order')).toMatchObject({
      success: false,
      errorReason: 'network_unavailable',
      transaction: '',
    });
    // Who has no key cannot have bought it: another refusal would say no more.
    expect(await bodyOf()).toMatchObject({ errorReason: USED, transaction: FOUND });
  });

  describe('with a key that the ledger does not know any more', () => {
    const of = (): Payment => {
      const other = anEip3009Payment({ signed: { nonce: `0x${'77'.repeat(32)}` } }).payment;
      expect(namesOf(other).authorizationId).not.toBe(identity.authorizationId);
      return other;
    };

    it('is refused where the key came with another payment', async () => {
      add(sold());
      const answer = await settle('order', { of: of() });
      expect(answer).toMatchObject({
        status: 409,
        body: { errorReason: 'idempotency_key_conflict', transaction: '' },
      });
    });

    it('gets no answer about the key without a payment of its own', async () => {
      add(sold());
      signature = 'bad';
      expect(await bodyOf('order', { of: of() })).toMatchObject({ errorReason: USED });
    });

    it('is refused where others have the payment under way', async () => {
      isUsed = false;
      add(sold());
      const other = of();
      const otherIdentity = namesOf(other);
      const requester = {
        id: 'q.1',
        keyTag: '',
        credentials: [],
        arrivedAt: Date.now(),
      };
      await store.claim(requester, {
        identity: otherIdentity,
        isAccepted: false,
        means: { balance: undefined, allowance: undefined },
        payment: anAcceptedPayment({ chainId }),
      });
      expect(await settle('order', { of: other })).toMatchObject({ status: 409 });
      expect(archive.asked).toEqual(['key']);
    });
  });

  it('of a new payment asks the archive nothing, whatever its key', async () => {
    [reason, isUsed] = [undefined, false];
    // It is good: what keeps it from being settled here comes after the judgement.
    expect(await bodyOf('order')).toMatchObject({ errorReason: 'no_gas' });
    [reason, isUsed] = ['invalid_exact_evm_insufficient_balance', false];
    expect(await bodyOf('order')).toMatchObject({ errorReason: reason });
    expect(archive.asked).toEqual([]);
  });
});
