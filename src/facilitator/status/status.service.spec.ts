import { describe, expect, it } from '@jest/globals';
import type { Address, Hex } from 'viem';
import {
  aUseChain,
  TX,
  type UseChain,
} from '../../../test/builders/facilitator/status/use-chain.js';
import { anEip3009Authorization } from '../../../test/builders/protocol/payment/accepted-payment.js';
import {
  anEip3009Payment,
  aPermit2Payment,
  PAYEE,
  PAYER,
  TOKEN,
} from '../../../test/builders/protocol/schemes/exact/exact-payment.js';
import {
  aSettlementDetails,
  aSettlementView,
} from '../../../test/builders/settlement/model/settlement-view.js';
import { MemoryLabelStore } from '../../../test/twins/settlement/ledger/memory-label-store.js';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import { ArchiveUnavailableError, ChainUnavailableError } from '../../protocol/errors.js';
import { addressWord, uintWord } from '../../protocol/evm/abi-words.js';
import { settlementCall } from '../../protocol/evm/calls.js';
import { DEFAULT_SCHEME_CONTRACTS } from '../../protocol/evm/contracts.js';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  TRANSFER_TOPIC,
} from '../../protocol/evm/logs.js';
import { authorizationIdOf, type PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Payment } from '../../protocol/payment/payment.js';
import type { Reason } from '../../protocol/reasons.js';
import type {
  Settlement,
  SettlementQueries,
} from '../../settlement/ledger/queries/settlement-queries.js';
import { StatusService } from './status.service.js';
import { UsedAuthorizationFinder } from './used-authorization-finder.js';

const OTHER_TOKEN: Address = `0x${'44'.repeat(20)}`;
const ended = (id: string, termsTag = 'terms'): Settlement => ({
  isLive: false,
  view: aSettlementView({ id, termsTag }),
  details: undefined,
});
const of = (id: string, token: Address): Settlement => ({
  ...ended(id),
  isLive: true,
  details: aSettlementDetails({ token }),
});

const labels = new MemoryLabelStore();

/** A ledger that has these, by chain and by what they are found under. */
function aStatus(
  found: Readonly<Record<string, readonly Settlement[]>>,
  chain?: UseChain,
  troubles: ReadonlyMap<number, Error> = new Map(),
): StatusService {
  const at = (chainId: number, name: string): readonly Settlement[] =>
    found[`${chainId}/${name}`] ?? [];
  const answer = <T>(chainId: number, value: T): Promise<T> => {
    const trouble = troubles.get(chainId);
    return trouble === undefined ? Promise.resolve(value) : Promise.reject(trouble);
  };
  const queries: Pick<SettlementQueries, 'byId' | 'byTransaction' | 'claimsOf'> = {
    byId: (chainId, id) => answer(chainId, at(chainId, id)[0]),
    byTransaction: (chainId, hash) => answer(chainId, at(chainId, hash)),
    claimsOf: (chainId, ids) => Promise.resolve(ids.flatMap((id) => at(chainId, id))),
  };
  const chains = { all: [{ chainId: 97 }, { chainId: 56 }], get: () => chain?.chain };
  return new StatusService(
    queries as SettlementQueries,
    chains as unknown as ChainRegistry,
    labels,
  );
}

const QUERY = { chainId: 56, asset: TOKEN, payer: PAYER, nonce: 77n };
const idOf = (method: 'eip3009' | 'permit2'): string =>
  authorizationIdOf(method, 56, TOKEN, PAYER, 77n);

describe('a look-up', () => {
  it('by id and by transaction finds what is on any chain', async () => {
    const status = aStatus({
      '56/a': [ended('a')],
      [`97/${TX}`]: [ended('b')],
      [`56/${TX}`]: [ended('c')],
    });
    expect((await status.byId('a'))?.settlementId).toBe('a');
    expect(await status.byId('unknown')).toBeUndefined();
    const carried = await status.byTransaction(TX);
    expect(carried.map(({ settlementId }) => settlementId)).toEqual(['b', 'c']);
  });

  it('by id and by transaction needs no archive for what the ledger of one chain has', async () => {
    const away = new ArchiveUnavailableError('id');
    const status = aStatus(
      { '56/a': [ended('a')], [`56/${TX}`]: [ended('b')] },
      undefined,
      new Map([[97, away]]),
    );
    expect((await status.byId('a'))?.settlementId).toBe('a');
    expect((await status.byTransaction(TX)).map(({ settlementId }) => settlementId)).toEqual(['b']);
    await expect(status.byId('unknown')).rejects.toBe(away);
    await expect(status.byTransaction(`0x${'ee'.repeat(32)}`)).rejects.toBe(away);
  });

  it('by label finds the claims that were made, newest first, each on its chain', async () => {
    const status = aStatus({
      '56/a': [ended('a')],
      '97/b': [ended('b')],
      '97/a': [ended('other')],
    });
    for (const ref of [
      { chainId: 56, id: 'a' },
      { chainId: 97, id: 'never made' },
      { chainId: 97, id: 'b' },
    ]) {
      await labels.note('tag', ref);
    }
    const found = await status.byLabel('tag');
    expect(found.map(({ settlementId }) => settlementId)).toEqual(['b', 'a']);
    expect(await status.byLabel('another')).toEqual([]);
  });

  it('by payment finds the claim of these terms, and not that of others', async () => {
    const status = aStatus({ '56/auth': [ended('first', 'other'), ended('second')] });
    const identity = { authorizationId: 'auth', termsTag: 'terms' } as PaymentIdentity;
    expect((await status.byPayment(56, identity))?.settlementId).toBe('second');
    expect(await status.byPayment(56, { ...identity, termsTag: 'x' })).toBeUndefined();
    expect(await status.byPayment(97, identity)).toBeUndefined();
  });

  it.each(['eip3009', 'permit2'] as const)('by authorization finds one of %s', async (method) => {
    const chain = aUseChain();
    const status = aStatus({ [`56/${idOf(method)}`]: [of('a', TOKEN)] }, chain);
    expect(await status.byAuthorization(QUERY)).toMatchObject({ settlementId: 'a' });
    expect(chain.asked).toEqual([]);
  });

  it('by authorization is not answered by what another token has under the nonce', async () => {
    // Permit2 has one set of nonces for all tokens.
    const found = { [`56/${idOf('permit2')}`]: [of('theirs', OTHER_TOKEN), of('own', TOKEN)] };
    expect(await aStatus(found).byAuthorization(QUERY)).toMatchObject({ settlementId: 'own' });
  });
});

describe('a look-up of what the ledger does not know', () => {
  it.each<[string, Partial<UseChain>, object]>([
    ['unused', {}, { used: false }],
    [
      'used by EIP-3009',
      { usedBy: 'eip3009' },
      { used: true, paid: false, method: 'eip3009', transaction: TX, block: { number: '7' } },
    ],
    [
      'used by Permit2',
      { usedBy: 'permit2' },
      { used: true, paid: false, method: 'permit2', transaction: TX },
    ],
    [
      'used by a transaction that is not found',
      { usedBy: 'eip3009', use: undefined },
      { used: true, paid: false, method: 'eip3009' },
    ],
    [
      'used, with logs that no endpoint has',
      { usedBy: 'eip3009', search: 'fails' },
      { used: true, paid: false, method: 'eip3009' },
    ],
  ])('asks the chain: %s', async (_, world, expected) => {
    const answer = await aStatus({}, aUseChain(world)).byAuthorization(QUERY);
    expect(answer).toMatchObject({ source: 'chain', ...expected });
    expect('transaction' in answer).toBe('transaction' in expected);
  });

  it('says nothing while the chain cannot be asked', async () => {
    const status = aStatus({}, aUseChain({ state: 'away' }));
    await expect(status.byAuthorization(QUERY)).rejects.toThrow(ChainUnavailableError);
  });

  it('says so while the archive is away, unless the chain knows a use', async () => {
    const away = new ArchiveUnavailableError('authorization');
    const aStatusWithout = (chain: UseChain) =>
      new StatusService(
        { claimsOf: () => Promise.reject(away) } as unknown as SettlementQueries,
        { all: [], get: () => chain.chain } as unknown as ChainRegistry,
        labels,
      );
    await expect(aStatusWithout(aUseChain()).byAuthorization(QUERY)).rejects.toBe(away);
    const used = await aStatusWithout(aUseChain({ usedBy: 'eip3009' })).byAuthorization(QUERY);
    expect(used).toMatchObject({ source: 'chain', used: true, transaction: TX });
  });

  it('of a chain that is not served knows no use', async () => {
    expect(await aStatus({}).byAuthorization(QUERY)).toEqual({
      source: 'chain',
      used: false,
      paid: false,
    });
  });
});

describe('a look-up by a transaction that carries no settlement', () => {
  const authorization = anEip3009Authorization();
  const { from, nonce, to, value } = authorization;
  const transfer = {
    address: TOKEN,
    data: `0x${uintWord(value)}`,
    logIndex: 1,
    topics: [TRANSFER_TOPIC, `0x${addressWord(from)}`, `0x${addressWord(to)}`],
  };
  const used = (topic: Hex) => ({
    address: TOKEN,
    data: '0x',
    logIndex: 0,
    topics: [topic, `0x${addressWord(from)}`, nonce],
  });
  const uses = (logs: readonly object[], isSuccess = true) => {
    const view = {
      receipt: () => Promise.resolve({ isSuccess, blockNumber: 7n, logs }),
      transaction: () =>
        Promise.resolve({ to: TOKEN, input: settlementCall(authorization, TOKEN).data }),
    };
    const chain = {
      chainId: 56,
      schemeContracts: DEFAULT_SCHEME_CONTRACTS,
      withView: (work: (one: typeof view) => unknown) => work(view),
    };
    const chains = { all: [{ chainId: 56 }], get: () => chain } as unknown as ChainRegistry;
    return new StatusService({} as SettlementQueries, chains, labels).usesIn(TX);
  };

  it('names what a stranger presented, and whether the payee was paid', async () => {
    const use = {
      source: 'chain',
      used: true,
      method: 'eip3009',
      transaction: TX,
      block: { number: '7' },
      payment: {
        network: 'eip155:56',
        asset: TOKEN,
        payer: from,
        payTo: to,
        amount: value.toString(),
        nonce: BigInt(nonce).toString(),
      },
    };
    const paid = [used(AUTHORIZATION_USED_TOPIC), transfer];
    expect(await uses(paid)).toEqual([{ ...use, paid: true }]);
    expect(await uses([used(AUTHORIZATION_CANCELED_TOPIC), transfer])).toEqual([
      { ...use, paid: false },
    ]);
    expect(await uses([used(AUTHORIZATION_USED_TOPIC)])).toEqual([{ ...use, paid: false }]);
    expect(await uses([], false)).toEqual([]);
  });
});

describe('a payment that is refused', () => {
  const USED: Reason = 'invalid_exact_evm_nonce_already_used';
  const finder = new UsedAuthorizationFinder();
  /** @returns who used it; `unused` where that is not why it is refused. */
  const find = async (payment: Payment, reason: Reason, { chain }: UseChain) => {
    const until = finder.until();
    const isUsed = await finder.isUsed(payment, reason, chain, until);
    if (isUsed === undefined) return 'unknown';
    return isUsed ? (await finder.userOf(payment, chain, until))?.transaction : 'unused';
  };
  const eip3009 = anEip3009Payment().payment;
  const permit2 = aPermit2Payment().payment;

  it.each<[string, Payment, Reason, Partial<UseChain>, string | undefined]>([
    ['as used', eip3009, USED, { usedBy: 'eip3009' }, TX],
    ['as used long ago', eip3009, USED, { use: undefined }, undefined],
    [
      'as late, and was used',
      eip3009,
      'invalid_exact_evm_payload_authorization_valid_before',
      { usedBy: 'eip3009' },
      TX,
    ],
    [
      'as late, and was not',
      eip3009,
      'invalid_exact_evm_payload_authorization_valid_before',
      {},
      'unused',
    ],
    [
      'as late, and its use cannot be read',
      eip3009,
      'invalid_exact_evm_payload_authorization_valid_before',
      { state: 'away' },
      'unknown',
    ],
    // Its own execution took the money.
    ['as poor, and was used', permit2, 'permit2_insufficient_balance', { usedBy: 'permit2' }, TX],
    ['as poor, and was not', permit2, 'permit2_insufficient_balance', {}, 'unused'],
    ['as unsigned', eip3009, 'invalid_exact_evm_signature', { usedBy: 'eip3009' }, 'unused'],
    [
      'as not signed by its wallet, which came later',
      eip3009,
      'invalid_exact_evm_signature',
      { usedBy: 'eip3009', payerHasCode: true },
      TX,
    ],
    [
      'to another payee',
      eip3009,
      'invalid_exact_evm_recipient_mismatch',
      { usedBy: 'eip3009' },
      'unused',
    ],
  ])('%s', async (_, payment, reason, world, expected) => {
    expect(await find(payment, reason, aUseChain(world))).toEqual(expected);
  });

  it('is searched for with payee and amount, in the last 25 000 blocks', async () => {
    const chain = aUseChain({ head: 30_000n });
    await find(permit2, 'permit2_invalid_nonce', chain);
    expect(chain.searched).toMatchObject([
      { ref: { payer: PAYER, payTo: PAYEE, amount: 1000n, nonce: 77n }, from: 5000n, to: 30_000n },
    ]);
  });

  it('is asked for again while no endpoint answers', async () => {
    expect(await find(eip3009, USED, aUseChain({ failures: 2 }))).toBe(TX);
  });
});
