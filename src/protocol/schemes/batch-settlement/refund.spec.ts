import { describe, expect, it } from '@jest/globals';
import { decodeFunctionData, type Hex, parseAbi } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { anAcceptedPayment } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import {
  aChannelChain,
  aContext,
  aRow,
  bodyOf,
  CHAIN_ID,
  channelIdOf,
  claimBatchData,
  CONFIG,
  ESCROW,
  refundData,
  stranger,
  type World,
} from '../../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import { uintWord } from '../../evm/abi-words.js';
import { runsCodeOf, settlementOf } from '../../payment/payment-facts.js';
import type { JsonObject } from '../../payment/wire-values.js';
import type { Verdict, VerifyScope } from '../verdict.js';
import type { ClaimBatch } from './claim-batch.js';
import { readRefund } from './read-claim.js';
import {
  presentedRefund,
  type Refund,
  REFUND_EVIDENCE,
  refundCallOf,
  refundGasCap,
  verifyRefund,
} from './refund.js';

/** The seller's own key. */
const authorizer = privateKeyToAccount(`0x${'b1'.repeat(32)}`);
const own = { receiverAuthorizer: authorizer.address };
const config = { ...CONFIG, ...own };

interface Asked {
  readonly amount?: bigint;
  readonly nonce?: bigint;
  readonly signer?: typeof authorizer;
  readonly claims?: readonly JsonObject[];
  readonly more?: JsonObject;
  readonly scope?: VerifyScope;
}

/** The channel of the chain holds 500, of which 100 are claimed; its next refund has the nonce 3. */
async function verdictOf(asked: Asked = {}, world: World = {}): Promise<Verdict> {
  const { amount = 200n, nonce = 3n, signer = authorizer, claims = [], more } = asked;
  const { scope = 'full' } = asked;
  const { payload } = await bodyOf('refund', { config: own });
  const inner = {
    ...(payload['payload'] as JsonObject),
    amount: String(amount),
    refundNonce: String(nonce),
    claims,
    refundAuthorizerSignature: await signer.signTypedData(
      refundData(channelIdOf(config), nonce, amount),
    ),
    claimAuthorizerSignature: await authorizer.signTypedData(claimBatchData(claims)),
    ...more,
  };
  const claim = readRefund({ payload: inner });
  if (claim === undefined) throw new Error('not read');
  return verifyRefund(claim, aContext(aChannelChain(world).chain), scope);
}

const short = (verdict: Verdict): string =>
  verdict.isValid
    ? 'good'
    : `${verdict.reason} ${verdict.cause ?? ''}`
        .replace('invalid_batch_settlement_evm_', 'BS:')
        .trim();

describe('a refund', () => {
  it('and a claim run the code of their authorizer, and no code of the escrow that others use', async () => {
    const verdict = await verdictOf({ claims: [await aRow(150n, { config: own })] });
    if (!verdict.isValid) throw new Error(verdict.reason);
    const authorization = verdict.authorization as Refund;
    const payment = anAcceptedPayment({ chainId: CHAIN_ID, asset: config.token, authorization });
    const name = authorizer.address.toLowerCase();
    expect(runsCodeOf(payment)).toBe(name);
    expect(settlementOf(payment, undefined, 1n)).toMatchObject({ runsCodeOf: name });
    const { rows, chainId, signature, scheme } = authorization;
    const claim: ClaimBatch = {
      scheme,
      method: 'channel-claim',
      from: config.receiver,
      signature,
      chainId,
      rows,
    };
    expect(runsCodeOf({ ...payment, authorization: claim })).toBe(name);
  });

  it('is presented by its call, alone or among others, and not by its words in other calldata', async () => {
    const [single, both] = [
      await verdictOf(),
      await verdictOf({ claims: [await aRow(150n, { config: own })] }),
    ];
    for (const verdict of [single, both]) {
      if (!verdict.isValid) throw new Error(verdict.reason);
      const refund = verdict.authorization as Refund;
      const { data } = refundCallOf(refund);
      expect(presentedRefund(data, refund)).toBe('this');
      expect(presentedRefund(data, { ...refund, refundNonce: 4n })).toBe('nothing');
      expect(presentedRefund(data, { ...refund, amount: 201n })).toBe('another');
      const other = refundCallOf({ ...refund, amount: 201n, claimSignature: undefined }).data;
      expect(presentedRefund(`${other}${data.slice(2)}`, refund)).toBe('this');
      const words = refundCallOf({ ...refund, claimSignature: undefined }).data.slice(10);
      expect(presentedRefund(`0x12345678${words}`, refund)).toBe('nothing');
    }
  });

  it('gives back what its authorizer signed, or what is free', async () => {
    const [part, all] = [await verdictOf(), await verdictOf({ amount: 10_000n })];
    const bringsOf = (verdict: Verdict) =>
      verdict.isValid ? [...(verdict.brings?.values() ?? [])].flat() : [];
    expect(bringsOf(part)).toEqual([200n]);
    expect(bringsOf(all)).toEqual([400n]);
    // What is claimed with it counts as well: its gas is paid too.
    const both = await verdictOf({ claims: [await aRow(150n, { config: own })] });
    expect(bringsOf(both)).toEqual([50n, 200n]);
    expect(all).toMatchObject({ authorization: { amount: 10_000n, refundNonce: 3n } });
  });

  it.each<[string, Asked, World, string]>([
    ['of a channel that is empty', {}, { totalClaimed: 500n }, 'BS:refund_no_balance'],
    ['of nothing', { amount: 0n }, {}, 'BS:refund_simulation_failed Its amount is 0.'],
    [
      'with a nonce that is used',
      { nonce: 2n },
      {},
      'BS:refund_simulation_failed The next refund of the channel has the nonce 3.',
    ],
    [
      'signed by a stranger',
      { signer: stranger },
      {},
      'BS:refund_simulation_failed The receiver authorizer of the channel has not signed this refund.',
    ],
    [
      'without a signature',
      { more: { refundAuthorizerSignature: undefined } },
      {},
      'BS:authorizer_not_configured',
    ],
    ['without an escrow', {}, { missing: ESCROW }, 'unsupported_scheme'],
    ['that cannot be read', {}, { isSilent: true }, 'BS:rpc_read_failed'],
  ])('%s is refused', async (_, asked, world, expected) => {
    expect(short(await verdictOf(asked, world))).toBe(expected);
  });

  it.each<[string, Asked, World]>([
    ['whose nonce is used', { nonce: 2n }, {}],
    ['of a channel that is empty by now', {}, { totalClaimed: 500n }],
    ['whose channel cannot be read', {}, { isSilent: true }],
  ])('%s has the terms that its authorizer signed', async (_, asked, world) => {
    expect(short(await verdictOf({ ...asked, scope: 'terms' }, world))).toBe('good');
  });

  it('has the terms of its claims as well, and none that a stranger signed', async () => {
    const scope = 'terms';
    const claims = [await aRow(500n, { config: own })];
    const world = { totalClaimed: 500n };
    expect(short(await verdictOf({ claims, scope }, world))).toBe('good');
    const claimAuthorizerSignature = await stranger.signTypedData(claimBatchData(claims));
    expect(
      short(await verdictOf({ claims, scope, more: { claimAuthorizerSignature } }, world)),
    ).toBe(
      'BS:claim_simulation_failed The receiver authorizer has not signed the rows of the claim.',
    );
    expect(short(await verdictOf({ signer: stranger, nonce: 2n, scope }))).toBe(
      'BS:refund_simulation_failed The receiver authorizer of the channel has not signed this refund.',
    );
  });

  it('is refused as done where its nonce is used and its rows are claimed', async () => {
    const isDone = async (asked: Asked, world: World = {}): Promise<boolean | undefined> => {
      const verdict = await verdictOf(asked, world);
      return verdict.isValid ? undefined : verdict.isDone;
    };
    const [claimed, fresh] = [await aRow(100n, { config: own }), await aRow(150n, { config: own })];
    expect(await isDone({ nonce: 2n })).toBe(true);
    expect(await isDone({ nonce: 2n }, { totalClaimed: 500n })).toBe(true);
    expect(await isDone({ nonce: 2n, claims: [claimed] })).toBe(true);
    // Another refund has used the nonce.
    expect(await isDone({ nonce: 2n, claims: [fresh] })).toBe(false);
    // Not yet, not signed, and not signed by the authorizer.
    expect(await isDone({ nonce: 4n })).toBeUndefined();
    expect(await isDone({}, { totalClaimed: 500n })).toBeUndefined();
    for (const world of [{}, { totalClaimed: 500n }]) {
      const unsigned = { refundAuthorizerSignature: undefined };
      expect(await isDone({ nonce: 2n, more: unsigned }, world)).toBeUndefined();
      expect(await isDone({ nonce: 2n, signer: stranger }, world)).toBeUndefined();
    }
  });

  it('leaves what is claimed with it', async () => {
    const claims = [await aRow(500n, { config: own })];
    expect(short(await verdictOf({ claims }))).toBe('BS:refund_no_balance');
  });

  it('is one call of the escrow, with the claim before it where one is new', async () => {
    const verdict = await verdictOf();
    if (!verdict.isValid) throw new Error(verdict.reason);
    const refund = verdict.authorization as Refund;
    const abi = parseAbi([
      'struct Config { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }',
      'function refundWithSignature(Config config, uint128 amount, uint256 nonce, bytes signature)',
      'function multicall(bytes[] data)',
    ]);
    const { to, data } = refundCallOf(refund);
    expect(to).toBe(ESCROW.toLowerCase());
    const [sent, amount, nonce] = decodeFunctionData({ abi, data }).args as unknown as [
      typeof CONFIG,
      bigint,
      bigint,
    ];
    expect([channelIdOf(sent), amount, nonce]).toEqual([channelIdOf(config), 200n, 3n]);
    const both = refundCallOf({ ...refund, claimSignature: '0x12' });
    const [calls] = decodeFunctionData({ abi, data: both.data }).args as unknown as [Hex[]];
    expect(calls.map((call) => call.slice(0, 10))).toEqual(['0xe43ce1f2', '0xb77433e9']);
    expect(refundGasCap(refund, 300_000n)).toBe(400_000n);
    expect(refund.chainId).toBe(CHAIN_ID);
  });

  it('is done once the nonce of its channel has gone on', async () => {
    const verdict = await verdictOf();
    if (!verdict.isValid) throw new Error(verdict.reason);
    const refund = verdict.authorization as Refund;
    const at = (next: bigint) =>
      REFUND_EVIDENCE.isDone({ status: 'returned', data: `0x${uintWord(next)}` }, refund);
    expect([at(3n), at(4n)]).toEqual([false, true]);
    expect(REFUND_EVIDENCE.isDone({ status: 'halted' }, refund)).toBeUndefined();
    expect(REFUND_EVIDENCE.callOf(refund).data.slice(0, 10)).toBe('0xf0dc792e');
  });
});
