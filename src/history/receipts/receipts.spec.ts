import { describe, expect, it } from '@jest/globals';
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { type Address, recoverTypedDataAddress, verifyTypedData } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { aRecorded, idOf } from '../../../test/builders/history/recorded-settlement.js';
import { TestClock } from '../../../test/builders/platform/concurrency/clock.js';
import { codeOf } from '../../../test/builders/platform/http/coded-error.js';
import { Secret } from '../../platform/config/secret.js';
import { RedisUnavailableError } from '../../protocol/errors.js';
import type { SettlementQueries } from '../../settlement/ledger/queries/settlement-queries.js';
import type { Settlement } from '../../settlement/ledger/queries/settlement-queries.js';
import type { SettlementState } from '../../settlement/model/settlement.js';
import { ArchiveError } from '../archive.js';
import type { SettlementReader } from '../sellers/settlement-reader.js';
import type { ChainEvidence } from './chain-evidence.js';
import type { SignedReceipt } from './dto/receipt.response.js';
import { ReceiptSigner } from './receipt-signer.js';
import { Receipts } from './receipts.js';

const KEY = `0x${'51'.repeat(32)}` as const;
const OLD_KEY = `0x${'50'.repeat(32)}` as const;
const SHOP: Address = `0x${'c3'.repeat(20)}`;
const MINE = new Set([SHOP]);
const PAID = { isPaid: true, blockNumber: 7n, logIndex: 3 } as const;
const BLOCK_HASH = `0x${'cd'.repeat(32)}` as const;

function settlement(
  state: SettlementState,
  more: Partial<Settlement['view']> = {},
  scheme = 'exact',
): Settlement {
  const { view, details } = aRecorded('a', state);
  if (details === undefined) throw new Error('no details');
  return {
    isLive: false,
    view: { ...view, ...more },
    details: { ...details, scheme, blockHash: BLOCK_HASH },
  };
}

const THEIRS = new Set<Address>([`0x${'d4'.repeat(20)}`]);
const signer = await ReceiptSigner.of({ key: new Secret(KEY), previous: [new Secret(OLD_KEY)] });

/** As verifiers have them. */
const published = JSON.parse(JSON.stringify(signer.keys)) as JSONWebKeySet;

interface Parts {
  readonly signer?: ReceiptSigner | undefined;
  readonly lists?: Pick<SettlementReader, 'byId'>;
  readonly queries?: Pick<SettlementQueries, 'byId'>;
  readonly evidence?: Pick<ChainEvidence, 'find'>;
}

function receipts(found: Settlement | undefined, more: Parts = {}): Receipts {
  const { lists, evidence, queries } = more;
  return new Receipts(
    'signer' in more ? more.signer : signer,
    queries ?? { byId: (chainId) => Promise.resolve(chainId === 56 ? found : undefined) },
    { ledgerChainIds: [97, 56] },
    lists === undefined ? {} : { lists },
    evidence ?? { find: () => Promise.reject(new Error('the chain was asked')) },
    new TestClock(),
  );
}

async function given(work: Promise<SignedReceipt | undefined>): Promise<SignedReceipt> {
  const receipt = await work;
  if (receipt === undefined) throw new Error('no receipt found');
  // As a client has it.
  return JSON.parse(JSON.stringify(receipt)) as SignedReceipt;
}

describe('a receipt', () => {
  it('says what was paid, where the chain shows it, and how certain that is', async () => {
    const { receipt } = await given(receipts(settlement('finalized')).of(idOf('a'), MINE));
    expect(receipt).toEqual({
      settlementId: idOf('a'),
      network: 'eip155:56',
      scheme: 'exact',
      asset: `0x${'a1'.repeat(20)}`,
      payer: `0x${'b2'.repeat(20)}`,
      payTo: SHOP,
      amount: (2n ** 256n - 1n).toString(),
      authorized: (2n ** 256n - 1n).toString(),
      nonce: (2n ** 256n - 1n).toString(),
      deadline: '1900000000',
      terms: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      transaction: `0x${'ab'.repeat(32)}`,
      logIndex: '3',
      blockNumber: '7',
      blockHash: BLOCK_HASH,
      finality: 'finalized',
      issuedAt: expect.stringMatching(/^\d+$/),
    });
    const early = await given(receipts(settlement('included')).of(idOf('a'), MINE));
    expect(early.receipt.finality).toBe('included');
    const copied = await given(receipts(settlement('foreign', PAID)).of(idOf('a'), MINE));
    expect(copied.receipt.finality).toBe('finalized');
  });

  it('says what was settled of what was signed', async () => {
    const upto = settlement('finalized', { settledAmount: 400n });
    const { receipt } = await given(receipts(upto).of(idOf('a'), MINE));
    expect(receipt).toMatchObject({ amount: '400', authorized: (2n ** 256n - 1n).toString() });
  });

  it('is verified by viem, and not when anything in it is changed', async () => {
    const { receipt, eip712 } = await given(receipts(settlement('finalized')).of(idOf('a'), MINE));
    const { signer: address, signature, domain, types, primaryType, message } = eip712;
    expect(address).toBe(privateKeyToAddress(KEY));
    const holds = (changed: object, chainId = 56): Promise<boolean> =>
      verifyTypedData({
        address,
        signature,
        types,
        primaryType,
        domain: { ...domain, chainId },
        // Numbers are text in JSON; viem takes them so.
        message: { ...message, ...changed },
      });
    expect(await holds({})).toBe(true);
    expect(await holds({}, 97)).toBe(false);
    const other = `0x${'99'.repeat(32)}`;
    for (const [name, value] of Object.entries<string>({ ...message })) {
      const change = /^\d+$/.test(value)
        ? '1'
        : value.length === 42
          ? SHOP.replace('c', 'd')
          : other;
      expect([name, await holds({ [name]: change })]).toEqual([name, false]);
    }
    // The message and the receipt are one.
    const { settlementId, ...rest } = receipt;
    expect(message).toEqual({
      ...rest,
      settlementId: `0x${Buffer.from(settlementId, 'base64url').toString('hex')}`,
    });
  });

  it('is verified by a JOSE library, and not when anything in it is changed', async () => {
    const { receipt, jws } = await given(receipts(settlement('finalized')).of(idOf('a'), MINE));
    const keys = createLocalJWKSet(published);
    const { payload, protectedHeader } = await compactVerify(jws, keys);
    expect(JSON.parse(Buffer.from(payload).toString())).toEqual(receipt);
    expect(protectedHeader).toMatchObject({ alg: 'EdDSA', typ: 'x402-receipt+jws' });
    const [header, body = '', signature] = jws.split('.');
    const other = Buffer.from(JSON.stringify({ ...receipt, amount: '1' })).toString('base64url');
    await expect(compactVerify([header, other, signature].join('.'), keys)).rejects.toThrow();
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    await expect(compactVerify(`${none}.${body}.`, keys)).rejects.toThrow();
  });

  it('of an earlier key is verified by the published keys, which hold nothing secret', async () => {
    const before = await ReceiptSigner.of({ key: new Secret(OLD_KEY), previous: [] });
    const old = await given(
      receipts(settlement('finalized'), { signer: before }).of(idOf('a'), MINE),
    );
    await compactVerify(old.jws, createLocalJWKSet(published));
    const { domain, types, primaryType, message, signature } = old.eip712;
    const address = await recoverTypedDataAddress({
      domain,
      types,
      primaryType,
      message: message as never,
      signature,
    });
    expect(signer.keys.x402_receipt_signers).toEqual([privateKeyToAddress(KEY), address]);
    expect(signer.keys.keys.map((key) => Object.keys(key).sort())).toEqual(
      [1, 2].map(() => ['alg', 'crv', 'kid', 'kty', 'use', 'x']),
    );
  });

  it('is not given of what no block shows', async () => {
    for (const state of ['queued', 'broadcast', 'reverted', 'expired', 'foreign'] as const) {
      const asked = receipts(settlement(state)).of(idOf('a'), MINE);
      expect(await codeOf(asked)).toEqual([409, 'not_paid']);
    }
    const deposit = settlement('finalized', {}, 'batch-settlement');
    expect(await codeOf(receipts(deposit).of(idOf('a'), MINE))).toEqual([409, 'not_paid']);
    const zero = settlement('finalized', { settledAmount: 0n, transaction: undefined });
    expect(await codeOf(receipts(zero).of(idOf('a'), MINE))).toEqual([409, 'no_evidence']);
  });

  it('is not given to others, nor of what is not known', async () => {
    const known = receipts(settlement('finalized'));
    expect(await known.of(idOf('a'), THEIRS)).toBeUndefined();
    // Whether it was paid is no answer to others either.
    const unpaid = receipts(settlement('broadcast'));
    expect(await unpaid.of(idOf('a'), THEIRS)).toBeUndefined();
    expect(await receipts(undefined).of(idOf('a'), MINE)).toBeUndefined();
    const off = receipts(settlement('finalized'), { signer: undefined });
    expect(await codeOf(off.of(idOf('a'), MINE))).toEqual([501, 'receipts_off']);
  });

  it('is made from the archive where the ledger has let go of the payment', async () => {
    const archived = settlement('finalized');
    const reader = { byId: () => Promise.resolve(archived) };
    const tombstone: Settlement = { ...archived, isLive: false, details: undefined };
    for (const found of [tombstone, undefined]) {
      const { receipt } = await given(receipts(found, { lists: reader }).of(idOf('a'), MINE));
      expect(receipt.blockHash).toBe(BLOCK_HASH);
    }
    expect(await receipts(tombstone).of(idOf('a'), MINE)).toBeUndefined();
    const failing = { byId: () => Promise.reject(new ArchiveError('database_failed', '57014')) };
    const asked = receipts(undefined, { lists: failing }).of(idOf('a'), MINE);
    expect(await codeOf(asked)).toEqual([503, 'history_unavailable']);
    const away = { byId: () => Promise.reject(new RedisUnavailableError('byId', 'away')) };
    await expect(
      receipts(undefined, { queries: away, lists: reader }).of(idOf('a'), MINE),
    ).rejects.toThrow(RedisUnavailableError);
  });

  it('asks the chain for what the ledger does not know of what others sent', async () => {
    const copied = settlement('foreign', { ...PAID, logIndex: undefined, settledAmount: 5n });
    const asked: unknown[] = [];
    const found = {
      transaction: `0x${'ab'.repeat(32)}` as const,
      blockNumber: 8n,
      blockHash: `0x${'ef'.repeat(32)}` as const,
      logIndex: 12,
    };
    const evidence: Pick<ChainEvidence, 'find'> = {
      find: (...question) => {
        asked.push(question);
        return Promise.resolve(found);
      },
    };
    const { receipt } = await given(receipts(copied, { evidence }).of(idOf('a'), MINE));
    expect(receipt).toMatchObject({ blockNumber: '8', logIndex: '12', blockHash: found.blockHash });
    const { details } = copied;
    expect(asked).toEqual([
      [
        56,
        found.transaction,
        { asset: details?.token, payer: details?.payer, payTo: SHOP, amount: 5n },
      ],
    ]);
    const nothing = { find: () => Promise.resolve(undefined) };
    expect(await codeOf(receipts(copied, { evidence: nothing }).of(idOf('a'), MINE))).toEqual([
      409,
      'no_evidence',
    ]);
  });
});
