import { describe, expect, it } from '@jest/globals';
import type { Hex } from 'viem';
import { aUseChain } from '../../../test/builders/facilitator/status/use-chain.js';
import { anEip3009Payment } from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import { FakeArchive } from '../../../test/builders/settlement/ledger/settlement-archive.js';
import { aSettlementView } from '../../../test/builders/settlement/model/settlement-view.js';
import {
  ChainUnavailableError,
  type FacilitatorError,
  RedisUnavailableError,
} from '../../protocol/errors.js';
import { identityOf } from '../../protocol/payment/identity.js';
import type { Reason } from '../../protocol/reasons.js';
import type { GoodVerdict } from '../../protocol/schemes/verdict.js';
import { NO_ARCHIVE, type SettlementArchive } from '../../settlement/ledger/settlement-archive.js';
import {
  BLANK_RECORD,
  type Look,
  type PayerRecord,
  type SettlementStore,
} from '../../settlement/ledger/settlement-store.js';
import type { SettlementView } from '../../settlement/model/settlement.js';
import { ArchivedPayments } from '../status/archived-payments.js';
import type { PaidBy, Use } from '../status/used-authorization-finder.js';
import type { Match, PaymentVerifier } from './payment-verifier.js';
import { VerifyService } from './verify.service.js';

/** The chain's answer about an authorization that any sender has used. */
const BY_CHAIN: Reason = 'invalid_exact_evm_nonce_already_used';

interface World {
  readonly known?: SettlementView | undefined;
  readonly isWaitedFor?: boolean;
  readonly acknowledgedKeyTag?: string;
  readonly match?: Match;
  readonly lists?: Reason;
  readonly ledger?: FacilitatorError;
  readonly chain?: FacilitatorError;
  readonly keyTag?: string;
  readonly archive?: SettlementArchive;
  /** What the judge says. */
  readonly reason?: Reason;
  /** Whether the chain calls it used, where the judge gives another reason. */
  /** `unknown`: the chain cannot be asked. */
  readonly isHiddenUse?: boolean | 'unknown';
  /** Who used it, as far as the chain shows that. */
  readonly use?: Use;
}

/** @returns `valid` or the reason, and the payer's funds in flight that the verifier was given. */
async function verify({
  known,
  isWaitedFor = false,
  match = { kind: 'same' },
  keyTag = '',
  archive = NO_ARCHIVE,
  reason = BY_CHAIN,
  ...world
}: World): Promise<{
  readonly given: string;
  readonly record: PayerRecord | undefined;
  readonly paidBy: PaidBy | undefined;
  /** How often the chain was asked whether it is used. */
  readonly asked: number;
}> {
  let asked = 0;
  const { acknowledgedKeyTag } = world;
  const look: Look = {
    ...BLANK_RECORD,
    recentReverts: 2,
    known,
    isWaitedFor,
    acknowledgedKeyTag,
    hasGoneBack: acknowledgedKeyTag !== undefined,
  };
  let record: PayerRecord | undefined;
  const verifier: Pick<PaymentVerifier, 'refusalByLists' | 'verify' | 'verifyTerms' | 'match'> = {
    refusalByLists: () => world.lists,
    verify: async (_, given) => {
      record = await given;
      if (world.chain !== undefined) throw world.chain;
      return { isValid: false, reason, isFromChainState: true };
    },
    verifyTerms: () =>
      Promise.resolve(
        match.kind === 'refused'
          ? { isValid: false, reason: match.reason, isFromChainState: false }
          : ({ isValid: true } as GoodVerdict),
      ),
    match: () => Promise.resolve(match),
  };
  const store: Pick<SettlementStore, 'look'> = {
    look: () => (world.ledger === undefined ? Promise.resolve(look) : Promise.reject(world.ledger)),
  };
  const service = new VerifyService(
    verifier,
    store,
    new ArchivedPayments(archive, verifier),
    {
      until: () => 0,
      isUsed: () => {
        asked += 1;
        return Promise.resolve(
          world.isHiddenUse === 'unknown'
            ? undefined
            : reason === BY_CHAIN || world.isHiddenUse === true,
        );
      },
      userOf: () => Promise.resolve(world.use),
    },
    { served: () => aUseChain().chain },
  );
  const outcome = await service.verify(anEip3009Payment().payment, keyTag);
  const paidBy = outcome.isValid ? undefined : outcome.paidBy;
  return { given: outcome.isValid ? 'valid' : outcome.reason, record, paidBy, asked };
}

const SOLD = { state: 'sold', soldKeyTag: 'k', boundKeyTag: 'k' } as const;
const DUPLICATE = 'duplicate_settlement';

describe('verify of a payment that the ledger knows', () => {
  it.each<[string, Parameters<typeof aSettlementView>[0], Partial<World>, string]>([
    // An open settlement of this facilitator is valid although the chain shows the nonce as used: its buyer got
    // "pending".
    ['is on its way', { state: 'broadcast' }, {}, 'valid'],
    ['is included', { state: 'included', isPaid: true }, {}, 'valid'],
    ['is final', { state: 'finalized', isPaid: true }, {}, 'valid'],
    ['was paid by a copy', { state: 'foreign', isPaid: true }, {}, 'valid'],
    // Nothing was signed for it, or it is over: the chain decides.
    ['is queued', { state: 'queued' }, {}, BY_CHAIN],
    ['was withdrawn', { state: 'withdrawn' }, {}, BY_CHAIN],
    ['reverted', { state: 'reverted' }, {}, BY_CHAIN],
    ['expired', { state: 'expired' }, {}, BY_CHAIN],
    ['was used elsewhere', { state: 'foreign' }, {}, BY_CHAIN],
    // One authorization, one sale.
    ['is sold', { state: 'finalized', isPaid: true, sale: SOLD }, {}, DUPLICATE],
    [
      'is sold to this key',
      { state: 'finalized', isPaid: true, sale: SOLD },
      { keyTag: 'k' },
      'valid',
    ],
    [
      'is sold to another key',
      { state: 'included', isPaid: true, sale: SOLD },
      { keyTag: 'x' },
      DUPLICATE,
    ],
    ['was accepted, and waits', { state: 'queued', sale: SOLD }, {}, DUPLICATE],
    ['was accepted, and failed', { state: 'reverted', sale: SOLD }, {}, DUPLICATE],
    [
      'was accepted for this key, and failed',
      { state: 'reverted', sale: SOLD },
      { keyTag: 'k' },
      BY_CHAIN,
    ],
    ['is waited for', { state: 'broadcast' }, { isWaitedFor: true }, DUPLICATE],
    ['is queued, and waited for', { state: 'queued' }, { isWaitedFor: true }, DUPLICATE],
    ['failed, and was waited for', { state: 'reverted' }, { isWaitedFor: true }, BY_CHAIN],
    [
      'is waited for by this key',
      { state: 'broadcast', sale: { boundKeyTag: 'k' } },
      { isWaitedFor: true, keyTag: 'k' },
      'valid',
    ],
    [
      'is waited for without a key, by others who have none',
      { state: 'broadcast', sale: { boundKeyTag: '' } },
      { isWaitedFor: true },
      DUPLICATE,
    ],
  ])('and that %s', async (_, view, world, expected) => {
    expect((await verify({ known: aSettlementView(view), ...world })).given).toBe(expected);
  });

  const UNSIGNED: Match = { kind: 'refused', reason: 'invalid_exact_evm_signature' };

  it.each<[string, Partial<World>, string]>([
    ['was lost with its claim', {}, DUPLICATE],
    ['was lost with its claim, to the same key', { keyTag: 'k' }, BY_CHAIN],
    ['was lost with its claim, of a stranger', { match: UNSIGNED }, UNSIGNED.reason],
    ['was lost, and claimed again', { known: aSettlementView({ state: 'broadcast' }) }, DUPLICATE],
    [
      'was lost, and claimed again, to the same key',
      { known: aSettlementView({ state: 'broadcast' }), keyTag: 'k' },
      'valid',
    ],
  ])('and whose sale %s', async (_, world, expected) => {
    expect((await verify({ acknowledgedKeyTag: 'k', ...world })).given).toBe(expected);
  });

  it.each<[string, Parameters<typeof aSettlementView>[0], string]>([
    ['is queued', { state: 'queued' }, DUPLICATE],
    ['is on its way', { state: 'broadcast' }, DUPLICATE],
    ['is paid', { state: 'included', isPaid: true }, DUPLICATE],
    ['was sold, whatever became of it', { state: 'reverted', sale: SOLD }, DUPLICATE],
    ['reverted', { state: 'reverted' }, BY_CHAIN],
    ['expired', { state: 'expired' }, BY_CHAIN],
    ['was withdrawn', { state: 'withdrawn' }, BY_CHAIN],
  ])('with other terms, and that %s', async (_, view, expected) => {
    const known = aSettlementView(view);
    // Not even its own key helps: it is bound to the other payment.
    const { given } = await verify({ known, match: { kind: 'other_terms' }, keyTag: 'k' });
    expect(given).toBe(expected);
  });

  it('by a stranger, who did not sign it', async () => {
    const match: Match = { kind: 'refused', reason: 'invalid_exact_evm_signature' };
    const known = aSettlementView({ state: 'finalized', isPaid: true });
    expect((await verify({ known, match })).given).toBe('invalid_exact_evm_signature');
  });
});

describe('verify of a payment that has left the ledger', () => {
  const { payment } = anEip3009Payment();
  const identity = identityOf(payment);
  const of = (view: Parameters<typeof aSettlementView>[0]) => {
    const archive = new FakeArchive();
    const { chainId } = payment.requirements;
    archive.add(aSettlementView(view), identity?.authorizationId ?? '', chainId);
    return archive;
  };
  const PAID = { state: 'finalized', isPaid: true, sale: SOLD } as const;
  const POOR: Reason = 'invalid_exact_evm_insufficient_balance';

  it.each<[string, Parameters<typeof aSettlementView>[0], Partial<World>, string]>([
    ['is sold', PAID, {}, DUPLICATE],
    ['is sold to this key', PAID, { keyTag: 'k' }, 'valid'],
    ['is sold to another key', PAID, { keyTag: 'x' }, DUPLICATE],
    ['is not sold', { ...PAID, sale: {} }, {}, BY_CHAIN],
    ['was used elsewhere', { state: 'foreign' }, {}, BY_CHAIN],
    ['is sold, with other terms', PAID, { match: { kind: 'other_terms' } }, DUPLICATE],
    [
      "is not the payer's",
      PAID,
      { match: { kind: 'refused', reason: 'invalid_exact_evm_signature' }, keyTag: 'k' },
      'invalid_exact_evm_signature',
    ],
    // Its own execution took the money: what pays for it is not denied to who has paid.
    [
      'is sold to this key, and left its payer poor',
      PAID,
      { keyTag: 'k', reason: POOR, isHiddenUse: true },
      'valid',
    ],
    ['is sold, and its payer is poor', PAID, { reason: POOR, isHiddenUse: true }, POOR],
    ['is sold, and the chain calls it unused', PAID, { keyTag: 'k', reason: POOR }, POOR],
  ])('and that %s', async (_, view, world, expected) => {
    expect((await verify({ archive: of(view), ...world })).given).toBe(expected);
  });

  it('says nothing of it while the archive is away, to who may have bought it', async () => {
    const archive = of(PAID);
    archive.isAway = true;
    expect((await verify({ archive, keyTag: 'k' })).given).toBe('network_unavailable');
    expect((await verify({ archive })).given).toBe(BY_CHAIN);
  });

  it('asks the chain once whether what is refused is used', async () => {
    const { given, asked } = await verify({ archive: new FakeArchive(), keyTag: 'k' });
    expect([given, asked]).toEqual([BY_CHAIN, 1]);
  });

  it('asks the archive of nothing that the ledger knows, and of nothing while that is away', async () => {
    const archive = of(PAID);
    const known = aSettlementView({ state: 'foreign' });
    expect((await verify({ archive, known, keyTag: 'k' })).given).toBe(BY_CHAIN);
    const ledger = new RedisUnavailableError('look', undefined);
    expect((await verify({ archive, ledger, keyTag: 'k' })).given).toBe(BY_CHAIN);
    expect(archive.asked).toEqual([]);
  });
});

describe('verify of a payment that a stranger has presented', () => {
  const transaction: Hex = `0x${'5f'.repeat(32)}`;
  const POOR: Reason = 'permit2_simulation_failed';

  it.each<[string, Partial<World>, string, PaidBy | undefined]>([
    ['which paid', { use: { transaction, isPaid: true } }, BY_CHAIN, transaction],
    ['which did not pay', { use: { transaction, isPaid: false } }, BY_CHAIN, undefined],
    ['by a transaction that is not found', {}, BY_CHAIN, 'unknown'],
    [
      'which paid, and hides behind another reason',
      { use: { transaction, isPaid: true }, reason: POOR, isHiddenUse: true },
      POOR,
      transaction,
    ],
    [
      'or was not, and the chain cannot be asked',
      { reason: POOR, isHiddenUse: 'unknown' },
      'network_unavailable',
      undefined,
    ],
    [
      'which is not what it is refused for',
      { use: { transaction, isPaid: true }, reason: POOR },
      POOR,
      undefined,
    ],
  ])('%s', async (_, world, given, paidBy) => {
    expect(await verify(world)).toMatchObject({ given, paidBy });
  });
});

describe('verify', () => {
  it('judges a payment never seen by what the ledger counts of its payer', async () => {
    const { given, record } = await verify({});
    expect([given, record?.recentReverts]).toEqual([BY_CHAIN, 2]);
  });

  it('is decided by the chain alone while the ledger is away', async () => {
    const ledger = new RedisUnavailableError('look', undefined);
    const known = aSettlementView({ state: 'finalized', isPaid: true, sale: SOLD });
    const { given, record } = await verify({ known, ledger });
    expect([given, record]).toEqual([BY_CHAIN, BLANK_RECORD]);
  });

  it('says nothing of the payment while the chain cannot be asked', async () => {
    const chain = new ChainUnavailableError(56, 'x');
    expect((await verify({ chain })).given).toBe('network_unavailable');
    // What the ledger says needs no chain.
    const known = aSettlementView({ state: 'broadcast' });
    expect((await verify({ chain, known })).given).toBe('valid');
  });

  it('makes no read for a payment that lists of the operator refuse', async () => {
    const { given, record } = await verify({ lists: 'asset_not_allowed' });
    expect([given, record]).toEqual(['asset_not_allowed', undefined]);
  });
});
