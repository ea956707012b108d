import { describe, expect, it } from '@jest/globals';
import { type Hex, keccak256, maxUint256, parseTransaction, serializeTransaction } from 'viem';
import {
  AMOUNT,
  STRANGER,
  TOKEN,
} from '../../../../test/builders/protocol/schemes/exact/exact-payment.js';
import {
  anApproval,
  anApprovalClaim,
  approveData,
  LIMITS,
  OWNER_ADDRESS,
  recoverOwner,
} from '../../../../test/builders/protocol/schemes/permit2/approval.js';
import { readSentTransaction } from '../../evm/payer-transaction.js';
import type { SponsoredApprovalClaim } from '../../payment/payment.js';
import type { Reason } from '../../reasons.js';
import { type CheckedApproval, checkSponsoredApproval } from './sponsored-approval.js';

type Changes = Parameters<typeof anApproval>[0];

async function check(
  changes: Partial<SponsoredApprovalClaim>,
  signed: Changes = {},
): Promise<CheckedApproval> {
  const payment = { payer: OWNER_ADDRESS, token: TOKEN, amount: AMOUNT, chainId: 56 };
  const claim = await anApprovalClaim(changes, signed);
  return checkSponsoredApproval(claim, payment, LIMITS, recoverOwner);
}

const reasonOf = (checked: CheckedApproval): string => (checked.ok ? 'good' : checked.reason);

describe('an approval that a payment brings', () => {
  it('is read as it will be mined', async () => {
    const raw = await anApproval();
    expect(await check({})).toMatchObject({
      ok: true,
      transaction: {
        raw,
        hash: keccak256(raw),
        accountNonce: 3,
        gas: 70_000n,
        maxFeePerGas: 1_000_000_000n,
      },
    });
  });

  const malformed: readonly (readonly [string, Partial<SponsoredApprovalClaim>])[] = [
    ['a payer that is no address', { from: '0x11' }],
    ['a token that is no text', { asset: 5 }],
    ['a spender that is no address', { spender: {} }],
    ['a negative amount', { amount: '-1' }],
    ['an amount that is a number', { amount: 10 }],
    ['an amount of a thousand digits', { amount: '9'.repeat(1000) }],
    ['a transaction that is no text', { signedTransaction: { raw: '0x02' } }],
    ['half a byte', { signedTransaction: '0x021' }],
    ['a transaction beyond every approval', { signedTransaction: `0x${'02'.repeat(1025)}` }],
    ['a version in words', { version: 'one' }],
  ];
  it.each(malformed)('is refused with %s', async (_, changes) => {
    expect(reasonOf(await check(changes))).toBe('invalid_erc20_approval_extension_format');
  });

  const others: readonly (readonly [string, Partial<SponsoredApprovalClaim>, Reason])[] = [
    ['another owner', { from: STRANGER }, 'erc20_approval_from_mismatch'],
    ['another token', { asset: STRANGER }, 'erc20_approval_asset_mismatch'],
    ['another spender', { spender: STRANGER }, 'erc20_approval_spender_not_permit2'],
    [
      'bytes that are no transaction',
      { signedTransaction: '0x02c0' },
      'erc20_approval_tx_parse_failed',
    ],
  ];
  it.each(others)('is refused with %s', async (_, changes, reason) => {
    expect(reasonOf(await check(changes))).toBe(reason);
  });

  const signed: readonly (readonly [string, Changes, string])[] = [
    [
      'as a legacy transaction',
      {
        type: 'legacy',
        maxFeePerGas: undefined,
        maxPriorityFeePerGas: undefined,
        gasPrice: 1n,
      } as never,
      'erc20_approval_tx_parse_failed',
    ],
    ['to another contract', { to: STRANGER }, 'erc20_approval_tx_wrong_target'],
    ['to nobody', { to: null }, 'erc20_approval_tx_wrong_target'],
    [
      'as a transfer',
      { data: `0xa9059cbb${approveData().slice(10)}` as Hex },
      'erc20_approval_tx_wrong_selector',
    ],
    ['without arguments', { data: '0x095ea7b3' }, 'erc20_approval_tx_invalid_calldata'],
    ['with a tail', { data: `${approveData()}00` }, 'erc20_approval_tx_invalid_calldata'],
    ['for another spender', { data: approveData(STRANGER) }, 'erc20_approval_tx_wrong_spender'],
    ['for another chain', { chainId: 97 }, 'erc20_approval_tx_wrong_chain'],
    ['with native coins', { value: 1n }, 'erc20_approval_tx_extra_cost'],
    [
      'with an access list',
      { accessList: [{ address: TOKEN, storageKeys: [] }] },
      'erc20_approval_tx_extra_cost',
    ],
    [
      'for one unit too few',
      { data: approveData(undefined, AMOUNT - 1n) },
      'erc20_approval_tx_amount_too_small',
    ],
    ['for the amount exactly', { data: approveData(undefined, AMOUNT) }, 'good'],
    ['for everything', { data: approveData(undefined, maxUint256) }, 'good'],
    ['with all the gas there may be', { gas: LIMITS.gas }, 'good'],
    ['with a unit of gas more', { gas: LIMITS.gas + 1n }, 'erc20_approval_tx_too_expensive'],
    ['with the highest fee', { maxFeePerGas: LIMITS.maxFeePerGas }, 'good'],
    [
      'with a wei more',
      { maxFeePerGas: LIMITS.maxFeePerGas + 1n },
      'erc20_approval_tx_too_expensive',
    ],
  ];
  it.each(signed)('is judged when it is signed %s', async (_, changes, expected) => {
    expect(reasonOf(await check({}, changes))).toBe(expected);
  });

  it('is refused when another account signed it', async () => {
    const parsed = parseTransaction((await anApproval()) as `0x02${string}`);
    const { r = '0x', s = '0x' } = parsed;
    const flipped = parsed.yParity === 0 ? 1 : 0;
    const unsigned = { ...parsed, r: undefined, s: undefined, yParity: undefined, v: undefined };
    const signedTransaction = serializeTransaction(unsigned, { r, s, yParity: flipped });
    expect(reasonOf(await check({ signedTransaction }))).toMatch(
      /^erc20_approval_tx_(signer_mismatch|invalid_signature)$/,
    );
  });

  it('is not read in a form that nodes do not take, whose hash would be another one', async () => {
    const raw = await anApproval();
    expect(readSentTransaction(raw)).toBeDefined();
    // The same signature in its other form, which EIP-2 forbids.
    const parsed = parseTransaction(raw as `0x02${string}`);
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const { r = '0x', s = '0x', yParity = 0 } = parsed;
    const unsigned = { ...parsed, r: undefined, s: undefined, yParity: undefined, v: undefined };
    const high: Hex = `0x${(order - BigInt(s)).toString(16)}`;
    const other = serializeTransaction(unsigned, { r, s: high, yParity: yParity === 0 ? 1 : 0 });
    expect(readSentTransaction(other)).toBeUndefined();
    expect(readSentTransaction(`${raw}00`)).toBeUndefined();
  });
});
