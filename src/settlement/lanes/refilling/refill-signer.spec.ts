import { describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { TestClock } from '../../../../test/builders/platform/concurrency/clock.js';
import { GWEI, SIGNER, TestSigner } from '../../../../test/builders/settlement/lanes/lane-world.js';
import type { TransactionOrder } from '../ports.js';
import { RefillSigner } from './refill-signer.js';

const LANE: Address = `0x${'11'.repeat(20)}`;
const STRANGER: Address = `0x${'33'.repeat(20)}`;
const CAP = 1000n;

const order = (more: Partial<TransactionOrder> = {}): TransactionOrder => ({
  call: { to: LANE, data: '0x' },
  valueWei: CAP,
  accountNonce: 0,
  gas: 21_000n,
  fees: { maxFeePerGas: GWEI, maxPriorityFeePerGas: GWEI },
  isNoop: false,
  ...more,
});

describe('the signer of a treasury', () => {
  const signs = async (more: Partial<TransactionOrder>): Promise<boolean> => {
    const rules = { lanes: new Set([LANE]), dailyCapWei: CAP };
    const signer = new RefillSigner(new TestSigner(new TestClock()), rules);
    return (await signer.sign(order(more))) !== undefined;
  };

  it.each<[string, Partial<TransactionOrder>]>([
    ['coins for a lane', {}],
    ['nothing for itself', { call: { to: SIGNER, data: '0x' }, valueWei: 0n, isNoop: true }],
    [
      'nothing for itself, said by silence',
      { call: { to: SIGNER, data: '0x' }, valueWei: undefined as never, isNoop: true },
    ],
  ])('signs %s', async (_, more) => {
    expect(await signs(more)).toBe(true);
  });

  it.each<[string, Partial<TransactionOrder>]>([
    ['coins for a stranger', { call: { to: STRANGER, data: '0x' } }],
    ['coins for a stranger, called a no-op', { call: { to: STRANGER, data: '0x' }, isNoop: true }],
    ['coins for itself, called a no-op', { call: { to: SIGNER, data: '0x' }, isNoop: true }],
    ['a call', { call: { to: LANE, data: '0xa9059cbb' } }],
    ['more than the cap', { valueWei: CAP + 1n }],
    ['nothing for a lane', { valueWei: 0n }],
    ['less than nothing', { valueWei: -1n }],
    ['more gas than a transfer takes', { gas: 21_001n }],
  ])('does not sign %s', async (_, more) => {
    expect(await signs(more)).toBe(false);
  });
});
