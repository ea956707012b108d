import { describe, expect, it } from '@jest/globals';
import {
  type Address,
  decodeFunctionData,
  encodeFunctionResult,
  type Hex,
  multicall3Abi,
  zeroAddress,
} from 'viem';
import {
  aRow,
  AUTHORIZER,
  buyer,
  CHAIN_ID,
} from '../../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import { CallNotSentError, CodeUnresponsiveError } from '../../errors.js';
import { uintWord } from '../../evm/abi-words.js';
import type { Call } from '../../evm/calls.js';
import type { StateReader } from '../../evm/chain-reader.js';
import type { JsonObject } from '../../payment/wire-values.js';
import type { ClaimBatch } from './claim-batch.js';
import { CULPRITS } from './culprits.js';
import { readBatchClaim, readRefund } from './read-claim.js';
import type { Refund } from './refund.js';
import { CLAIM } from './seller-actions.js';

const SELLER = AUTHORIZER.toLowerCase();
const BUYER = `${SELLER}:${buyer.address.toLowerCase()}`;
const [WALLET, OTHER] = [`0x${'0e'.repeat(20)}`, `0x${'0f'.repeat(20)}`] as const;
const bySelf = (payer: Address) => ({ config: { payer, payerAuthorizer: zeroAddress } });

function aClaim(rows: readonly JsonObject[]): ClaimBatch {
  const claim = readBatchClaim({ payload: { type: 'claim', claims: rows } });
  if (claim === undefined) throw new Error('not read');
  return { ...claim, signature: '0x', chainId: CHAIN_ID };
}

/** A channel at one block. */
interface Funds {
  readonly balance?: bigint;
  readonly claimed?: bigint;
  readonly withdrawal?: readonly [amount: bigint, requestedAt: bigint];
}

/** What an account with code says of a signature. */
type Answer = 'yes' | 'no' | 'nothing' | 'not asked';

interface State {
  /** In the order of the rows. */
  readonly funds?: readonly Funds[];
  readonly code?: Readonly<Record<string, Answer>>;
  readonly isSilent?: boolean;
}

const words = (...values: bigint[]): Hex => `0x${values.map(uintWord).join('')}`;

function aState({ funds = [], code = {}, isSilent = false }: State): StateReader {
  const fundsAt = ({ data }: Call): Hex => {
    const abi = multicall3Abi;
    const [calls] = decodeFunctionData({ abi, data }).args as readonly [
      readonly { readonly callData: Hex }[],
    ];
    const result = calls.map(({ callData }, index) => {
      const { balance = 1000n, claimed = 100n, withdrawal } = funds[index % funds.length] ?? {};
      const isOfChannel = callData.startsWith('0x7a7ebd7b');
      const returnData = isOfChannel ? words(balance, claimed) : words(...(withdrawal ?? [0n, 0n]));
      return { success: true, returnData };
    });
    return encodeFunctionResult({ abi, functionName: 'aggregate3', result });
  };
  return {
    chainId: CHAIN_ID,
    hasCode: (account) => Promise.resolve(account in code),
    call: (call) => {
      const answer = code[call.to];
      if (answer === 'nothing') return Promise.reject(new CodeUnresponsiveError(56, 'eth_call'));
      if (answer === 'not asked') return Promise.reject(new CallNotSentError(56, 'eth_call'));
      if (answer !== undefined) {
        const data: Hex = answer === 'yes' ? `0x1626ba7e${'00'.repeat(28)}` : words(0n);
        return Promise.resolve({ status: 'returned', data });
      }
      return Promise.resolve({ status: 'returned', data: isSilent ? '0x' : fundsAt(call) });
    },
  };
}

function culpritsOf(asked: ClaimBatch | Refund, after: State, before: State = after) {
  const block = { before: aState(before), after: aState(after), maxGas: 300_000n };
  return CULPRITS.among(asked, block);
}

describe('a claim that failed in its transaction', () => {
  it('is held against payers whose channels hold less than it claims', async () => {
    const claim = aClaim([await aRow(300n), await aRow(300n, bySelf(WALLET))]);
    const blamed = (...balances: bigint[]) =>
      culpritsOf(claim, { funds: balances.map((balance) => ({ balance })) });
    expect(await blamed(299n, 300n)).toEqual([BUYER]);
    expect(await blamed(299n, 299n)).toEqual([BUYER, `${SELLER}:${WALLET}`]);
  });

  it('is held against a payer that took its money out and filled its channel again in that block', async () => {
    const claim = aClaim([await aRow(300n), await aRow(300n, bySelf(WALLET))]);
    const full = [{}, {}];
    const blamed = (before: Funds, after: Funds = {}) =>
      culpritsOf(claim, { funds: [after, {}] }, { funds: [before, {}] });
    const unseen = await culpritsOf(claim, { funds: full });
    expect(unseen).toEqual([`${SELLER}:${WALLET}`]);
    expect(await blamed({ withdrawal: [900n, 7n] })).toEqual([BUYER]);
    expect(await blamed({ withdrawal: [701n, 7n] })).toEqual([BUYER]);
    // It has asked for the next one already.
    expect(await blamed({ withdrawal: [900n, 7n] }, { withdrawal: [900n, 9n] })).toEqual([BUYER]);
    // Enough was left, or the money was still there.
    expect(await blamed({ withdrawal: [700n, 7n] })).toEqual(unseen);
    expect(await blamed({ withdrawal: [900n, 7n] }, { withdrawal: [900n, 7n] })).toEqual(unseen);
  });

  it('is held against the wallets that deny their vouchers, and against no other wallet', async () => {
    const claim = aClaim([await aRow(300n, bySelf(WALLET)), await aRow(300n, bySelf(OTHER))]);
    const funds = [{}, {}];
    const blamed = (wallet: Answer, other: Answer) =>
      culpritsOf(claim, { funds, code: { [WALLET]: wallet, [OTHER]: other } });
    expect(await blamed('no', 'yes')).toEqual([`${SELLER}:${WALLET}`]);
    expect(await blamed('yes', 'nothing')).toEqual([`${SELLER}:${OTHER}`]);
    expect(await blamed('no', 'no')).toEqual([`${SELLER}:${WALLET}`, `${SELLER}:${OTHER}`]);
    // The queue was full: that says nothing about a wallet.
    expect(await blamed('not asked', 'no')).toEqual([`${SELLER}:${OTHER}`]);
  });

  it('is held against an authorizer that is a contract and denies it, and against no wallet then', async () => {
    const claim = aClaim([await aRow(300n, bySelf(WALLET))]);
    const code = { [SELLER]: 'no', [WALLET]: 'yes' } as const;
    expect(await culpritsOf(claim, { funds: [{}], code })).toEqual([SELLER]);
  });

  it('is not held against the wallet of a row that was claimed before: the contract skips it', async () => {
    const claim = aClaim([await aRow(300n, bySelf(WALLET)), await aRow(300n, bySelf(OTHER))]);
    const funds = [{ claimed: 300n }, {}];
    const code = { [WALLET]: 'no', [OTHER]: 'yes' } as const;
    expect(await culpritsOf(claim, { funds, code })).toEqual([`${SELLER}:${OTHER}`]);
  });

  it('is held against wallets, and else against its authorizer, where the chain shows no cause', async () => {
    const byKey = await aRow(300n);
    const byWallet = await aRow(300n, bySelf(WALLET));
    const mixed = aClaim([byKey, byWallet]);
    expect(await culpritsOf(mixed, { funds: [{}, {}] })).toEqual([`${SELLER}:${WALLET}`]);
    expect(await culpritsOf(aClaim([byKey]), { funds: [{}] })).toEqual([SELLER]);
    expect(await culpritsOf(mixed, { isSilent: true })).toEqual([`${SELLER}:${WALLET}`]);
    expect(CULPRITS.suspects(mixed)).toEqual([`${SELLER}:${WALLET}`]);
    expect(CULPRITS.suspects(aClaim([byKey]))).toEqual([SELLER]);
  });

  it('may be held against its authorizer and its payers: they are asked for before the next one', async () => {
    const rows = [await aRow(300n), await aRow(200n, bySelf(WALLET)), await aRow(300n)];
    expect(CLAIM.blamedFor?.(aClaim(rows))).toEqual([SELLER, BUYER, `${SELLER}:${WALLET}`]);
  });
});

describe('a refund that failed in its transaction', () => {
  it('is held against an authorizer that is a contract and denies it, and else as a claim is', async () => {
    const row = await aRow(300n, bySelf(WALLET));
    const { channel } = row['voucher'] as { channel: object };
    const claim = readRefund({
      payload: { channelConfig: channel, amount: '1', refundNonce: '3', claims: [row] },
    });
    if (claim === undefined) throw new Error('not read');
    const refund: Refund = {
      ...claim,
      signature: '0x',
      claimSignature: undefined,
      chainId: CHAIN_ID,
      channelId: `0x${'1'.repeat(64)}`,
    };
    const blamed = (code: State['code']) =>
      culpritsOf(refund, { funds: [{}], ...(code && { code }) });
    expect(await blamed({ [SELLER]: 'no', [WALLET]: 'yes' })).toEqual([SELLER]);
    expect(await blamed({ [SELLER]: 'yes', [WALLET]: 'no' })).toEqual([`${SELLER}:${WALLET}`]);
  });
});
