import { describe, expect, it } from '@jest/globals';
import {
  type Address,
  decodeFunctionData,
  encodeFunctionResult,
  type Hex,
  multicall3Abi,
  parseAbi,
  zeroAddress,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import {
  aChannelChain,
  aContext,
  aRow,
  buyer,
  channelIdOf,
  claimBatchData,
  CONFIG,
  type Config,
  ESCROW,
  SELLER,
  stranger,
  TOKEN,
} from '../../../../test/builders/protocol/schemes/batch-settlement/channel.js';
import { uintWord } from '../../evm/abi-words.js';
import type { CallOutcome } from '../../evm/chain-reader.js';
import type { JsonObject } from '../../payment/wire-values.js';
import type { Verdict, VerifyScope } from '../verdict.js';
import { CLAIM_EVIDENCE, type ClaimBatch, claimCallOf, claimGasCap } from './claim-batch.js';
import { readBatchClaim } from './read-claim.js';
import { verifyClaims } from './verify-claims.js';

/** The seller's own key. */
const authorizer = privateKeyToAccount(`0x${'b1'.repeat(32)}`);
const own: Partial<Config> = { receiverAuthorizer: authorizer.address };
const salted = (byte: string): Partial<Config> => ({ ...own, salt: `0x${byte.repeat(32)}` });
const row = (total: bigint, more: Parameters<typeof aRow>[1] = {}): Promise<JsonObject> =>
  aRow(total, { ...more, config: { ...own, ...more.config } });

/** Balance and total claimed of each row's channel. */
type States = readonly (readonly [balance: bigint, totalClaimed: bigint])[];

const outcomeOf = (states: States): CallOutcome => ({
  status: 'returned',
  data: encodeFunctionResult({
    abi: multicall3Abi,
    functionName: 'aggregate3',
    result: states.map(([balance, totalClaimed]) => ({
      success: true,
      returnData: `0x${uintWord(balance)}${uintWord(totalClaimed)}` as Hex,
    })),
  }),
});

async function verdictOf(
  rows: readonly JsonObject[],
  states: States = rows.map(() => [1000n, 100n] as const),
  more: {
    readonly signer?: typeof authorizer;
    readonly signature?: unknown;
    readonly isAuthorizerContract?: boolean;
    /** What the buyer's wallet answers, where the buyer has one. */
    readonly wallet?: () => Promise<CallOutcome>;
    readonly scope?: VerifyScope;
  } = {},
): Promise<Verdict> {
  const { signer = authorizer, scope = 'full' } = more;
  const signature =
    'signature' in more ? more.signature : await signer.signTypedData(claimBatchData(rows));
  const inner = { type: 'claim', claims: rows, claimAuthorizerSignature: signature };
  const claim = readBatchClaim({ payload: inner });
  if (claim === undefined) throw new Error('not read');
  const { chain: bare } = aChannelChain();
  const chain = {
    ...bare,
    call: ({ to, data }: { to: Address; data: Hex }): Promise<CallOutcome> => {
      if (!data.startsWith('0x1626ba7e')) return Promise.resolve(outcomeOf(states));
      if (to === buyer.address.toLowerCase() && more.wallet !== undefined) return more.wallet();
      return Promise.resolve({ status: 'returned', data: `0x1626ba7e${'00'.repeat(28)}` });
    },
    hasCode: (address: Address) =>
      Promise.resolve(
        address === authorizer.address.toLowerCase()
          ? more.isAuthorizerContract === true
          : more.wallet !== undefined && address === buyer.address.toLowerCase(),
      ),
  };
  return verifyClaims(claim, aContext(chain), scope);
}

function reasonOf(verdict: Verdict): string {
  if (verdict.isValid) return verdict.isDone === true ? 'done' : 'good';
  const { reason, cause = '' } = verdict;
  return `${reason.replace('invalid_batch_settlement_evm_', 'BS:')} ${cause}`.trim();
}

describe('a claim', () => {
  it('is good for what its rows bring beyond what was claimed', async () => {
    const rows = [await row(300n), await row(250n, { config: salted('01'), max: 400n })];
    expect(await verdictOf(rows)).toMatchObject({
      isDone: false,
      brings: new Map([[TOKEN, [200n, 150n]]]),
    });
    // One of them was claimed before: the whole is sent, for the signature covers the list.
    const partly = await verdictOf(rows, [
      [1000n, 300n],
      [1000n, 100n],
    ]);
    expect(partly).toMatchObject({
      brings: new Map([[TOKEN, [150n]]]),
      authorization: { rows: { length: 2 } },
    });
  });

  it('has one row of a channel that brings something: one deposit cannot pay for many rows', async () => {
    const rows = [await row(300n), await row(200n)];
    expect(await verdictOf(rows)).toMatchObject({ brings: new Map([[TOKEN, [200n]]]) });
    expect(reasonOf(await verdictOf([...rows, await row(350n)]))).toBe(
      'BS:claim_simulation_failed claims[2] is one more row of a channel.',
    );
  });

  it('has the terms that its authorizer signed, whatever its channels hold by now', async () => {
    const rows = [await row(300n)];
    const emptied: States = [[200n, 200n]];
    expect(reasonOf(await verdictOf(rows, emptied))).toBe(
      'BS:claim_simulation_failed claims[0] claims more than its channel holds.',
    );
    expect(reasonOf(await verdictOf(rows, emptied, { scope: 'terms' }))).toBe('good');
    expect(reasonOf(await verdictOf(rows, emptied, { scope: 'terms', signer: stranger }))).toBe(
      'BS:claim_simulation_failed The receiver authorizer has not signed the rows of the claim.',
    );
  });

  it('asks a wallet about one voucher at a time: few of its calls may wait', async () => {
    const config = { payerAuthorizer: zeroAddress };
    const rows = await Promise.all(
      ['01', '02', '03'].map((salt) => row(300n, { config: { ...config, ...salted(salt) } })),
    );
    let [asked, most, all] = [0, 0, 0];
    const wallet = async (): Promise<CallOutcome> => {
      asked += 1;
      all += 1;
      most = Math.max(most, asked);
      await new Promise((resolve) => setImmediate(resolve));
      asked -= 1;
      return { status: 'returned', data: `0x1626ba7e${'00'.repeat(28)}` };
    };
    expect(reasonOf(await verdictOf(rows, undefined, { wallet }))).toBe('good');
    expect([most, all]).toEqual([1, 3]);
    // The first that it denies is enough.
    const denying = (): Promise<CallOutcome> => {
      all += 1;
      return Promise.resolve({ status: 'reverted', data: undefined });
    };
    expect(reasonOf(await verdictOf(rows, undefined, { wallet: denying }))).toBe(
      'BS:claim_simulation_failed claims[0] has a voucher that its payer has not signed.',
    );
    expect(all).toBe(4);
  });

  it('is done where nothing of it is new: old claims are public', async () => {
    expect(reasonOf(await verdictOf([await row(100n)]))).toBe('done');
    // The contract skips such a row before it looks at its voucher.
    expect(reasonOf(await verdictOf([await row(99n, { voucher: stranger })]))).toBe('done');
  });

  it.each<[string, Parameters<typeof aRow>[1] & { total?: bigint }, string]>([
    ['above its voucher', { max: 299n }, 'claims more than its voucher allows.'],
    ['above its channel', { total: 1001n }, 'claims more than its channel holds.'],
    [
      'with a voucher of a stranger',
      { voucher: stranger },
      'has a voucher that its payer has not signed.',
    ],
  ])('is refused for a row %s, which is named', async (_, { total = 300n, ...more }, fault) => {
    const rows = [await row(300n), await row(total, { ...more, config: salted('01') })];
    expect(reasonOf(await verdictOf(rows))).toBe(`BS:claim_simulation_failed claims[1] ${fault}`);
  });

  it('has its signatures put in order: they are not what the authorizer signs', async () => {
    const good = await row(300n);
    const signature = good['signature'] as Hex;
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const s = order - BigInt(`0x${signature.slice(66, 130)}`);
    const high = signature.endsWith('1b') ? '01' : '00';
    const spelled = `${signature.slice(0, 66)}${uintWord(s)}${high}`;
    const verdict = await verdictOf([{ ...good, signature: spelled }]);
    expect(verdict).toMatchObject({ isValid: true, authorization: { rows: [{ signature }] } });
  });

  it('keeps no long signature of a row that the contract skips', async () => {
    const good = await row(300n);
    const skipped = await row(100n, { config: salted('01') });
    const long: Hex = `0x${'ab'.repeat(8192)}`;
    const signaturesOf = async (signature: Hex): Promise<readonly Hex[]> => {
      const verdict = await verdictOf([{ ...skipped, signature }, good]);
      if (!verdict.isValid) throw new Error(verdict.reason);
      return (verdict.authorization as ClaimBatch).rows.map((one) => one.signature);
    };
    expect(await signaturesOf(long)).toEqual(['0x', good['signature']]);
    // A block that is replaced may bring such a row back to life.
    const own = skipped['signature'] as Hex;
    expect(await signaturesOf(own)).toEqual([own, good['signature']]);
  });

  it.each<[string, Parameters<typeof verdictOf>[2], string]>([
    ['without a signature', { signature: undefined }, 'BS:authorizer_not_configured'],
    [
      'signed by a stranger',
      { signer: stranger },
      'BS:claim_simulation_failed The receiver authorizer has not signed the rows of the claim.',
    ],
    ['signed by a contract', { signature: '0x12', isAuthorizerContract: true }, 'good'],
  ])('%s', async (_, more, expected) => {
    expect(reasonOf(await verdictOf([await row(300n)], undefined, more))).toBe(expected);
  });

  it('has one authorizer for all of its rows', async () => {
    const other = await row(300n, { config: { receiverAuthorizer: stranger.address } });
    const verdict = await verdictOf([await row(300n), other]);
    expect(reasonOf(verdict)).toBe('BS:authorizer_address_mismatch');
  });

  it('may be of several tokens and receivers, as the stock manager sends it', async () => {
    const config = { ...salted('02'), token: SELLER, receiver: TOKEN };
    const verdict = await verdictOf([await row(300n), await row(180n, { config })]);
    expect(verdict).toMatchObject({
      brings: new Map([
        [TOKEN, [200n]],
        [SELLER, [80n]],
      ]),
    });
  });

  it('is refused where it has no rows', async () => {
    expect(reasonOf(await verdictOf([]))).toBe('BS:claim_simulation_failed');
  });

  it('is not judged where the escrow does not answer for every row', async () => {
    expect(reasonOf(await verdictOf([await row(300n)], []))).toBe('BS:rpc_read_failed');
  });

  it.each([
    ['no list', { claims: {} }],
    ['a row of null', { claims: [null] }],
    ['more rows than a manager sends', { claims: Array.from({ length: 101 }, () => ({})) }],
    ['another type', { type: 'settle' }],
  ])('is not read with %s', async (_, more) => {
    const inner = { type: 'claim', claims: [await row(300n)], ...more };
    expect(readBatchClaim({ payload: inner })).toBeUndefined();
    const huge = { ...(await row(300n)), totalClaimed: String(2n ** 128n) };
    expect(readBatchClaim({ payload: { type: 'claim', claims: [huge] } })).toBeUndefined();
  });

  it('is a call of the escrow, with gas by its rows, and is shown by the totals of its channels', async () => {
    const rows = [await row(300n), await row(250n, { config: salted('01') })];
    const verdict = await verdictOf(rows);
    if (!verdict.isValid) throw new Error(verdict.reason);
    const batch = verdict.authorization as ClaimBatch;
    const abi = parseAbi([
      'struct Config { address payer; address payerAuthorizer; address receiver; address receiverAuthorizer; address token; uint40 withdrawDelay; bytes32 salt; }',
      'struct Voucher { Config channel; uint128 maxClaimableAmount; }',
      'struct Claim { Voucher voucher; bytes signature; uint128 totalClaimed; }',
      'function claimWithSignature(Claim[] claims, bytes signature)',
    ]);
    const { to, data } = claimCallOf(batch);
    expect([to, data.slice(0, 10)]).toEqual([ESCROW.toLowerCase(), '0xe43ce1f2']);
    const [claims, signature] = decodeFunctionData({ abi, data }).args;
    expect(signature).toBe(batch.signature);
    expect(
      claims.map(({ voucher, totalClaimed }) => [channelIdOf(voucher.channel), totalClaimed]),
    ).toEqual([
      [channelIdOf({ ...CONFIG, ...own }), 300n],
      [channelIdOf({ ...CONFIG, ...salted('01') }), 250n],
    ]);
    expect(claimGasCap(batch, 300_000n)).toBe(360_000n);
    expect(CLAIM_EVIDENCE.callOf(batch).data).toContain(
      channelIdOf({ ...CONFIG, ...own }).slice(2),
    );
    const isDone = (states: States) => CLAIM_EVIDENCE.isDone(outcomeOf(states), batch);
    expect(
      isDone([
        [1000n, 300n],
        [1000n, 250n],
      ]),
    ).toBe(true);
    expect(
      isDone([
        [1000n, 900n],
        [1000n, 251n],
      ]),
    ).toBe(true);
    expect(
      isDone([
        [1000n, 300n],
        [1000n, 249n],
      ]),
    ).toBe(false);
    expect(isDone([[1000n, 300n]])).toBeUndefined();
    expect(CLAIM_EVIDENCE.isDone({ status: 'reverted', data: '0x' }, batch)).toBeUndefined();
  });
});
