import { describe, expect, it } from '@jest/globals';
import {
  type Attempt,
  decodeAttempt,
  encodeAttempt,
  mostCostOf,
  newestTransactionOf,
  type SignedTransaction,
  transferOf,
  valueSentBy,
} from './attempt.js';

const PAYER = `0x${'1'.repeat(40)}` as const;
const LANE = `0x${'2'.repeat(40)}` as const;

function aTransaction(hash: `0x${string}`, more: Partial<SignedTransaction> = {}) {
  const fees = { maxFeePerGas: 10n, maxPriorityFeePerGas: 2n };
  return { hash, raw: '0xaa', ...fees, gas: 100n, signedAt: 1, isNoop: false, ...more } as const;
}

function anAttempt(more: Partial<Attempt> = {}): Attempt {
  return {
    accountNonce: 7,
    kind: 'single',
    settlementIds: ['one'],
    allocatedAtBlock: 5n,
    transactions: [aTransaction('0x01')],
    ...more,
  };
}

const FUNDING = { payer: PAYER, payerNonce: 3, valueWei: 500n, settlementId: 'one' };
const REPLACED = [
  aTransaction('0x01'),
  aTransaction('0x02', { maxFeePerGas: 12n, isNoop: true }),
] as const;
const FUND = anAttempt({ kind: 'fund', funding: FUNDING, transactions: REPLACED });
const REFILL = anAttempt({ kind: 'refill', refill: { to: LANE, valueWei: 900n } });

describe('what an account nonce can cost', () => {
  it.each<[string, Attempt, bigint]>([
    ['the dearest of its transactions', anAttempt({ transactions: REPLACED }), 1200n],
    ['the coins that it sends, which a no-op does not send', FUND, 1500n],
    [
      'a no-op that is dearer than what it replaces',
      { ...FUND, transactions: [REPLACED[0], aTransaction('0x02', { gas: 151n, isNoop: true })] },
      1510n,
    ],
    ['the coins of a refill', REFILL, 1900n],
  ])('is %s', (_, attempt, wei) => {
    expect(mostCostOf(attempt)).toBe(wei);
  });
});

describe('the coins that were sent', () => {
  it.each<[string, Attempt, `0x${string}`, boolean, bigint]>([
    ['all, by its transaction', FUND, '0x01', true, 500n],
    ['all, by a refill', REFILL, '0x01', true, 900n],
    ['none, by one that failed', FUND, '0x01', false, 0n],
    ['none, by its no-op', FUND, '0x02', true, 0n],
    ['none, by a transaction that is not its own', FUND, '0x03', true, 0n],
    ['none, by a call of a contract', anAttempt(), '0x01', true, 0n],
  ])('are %s', (_, attempt, transaction, isSuccess, wei) => {
    expect(valueSentBy(attempt, { transaction, isSuccess })).toBe(wei);
  });

  it('go to the payer or to the lane', () => {
    expect(transferOf(FUND)).toEqual({ to: PAYER, valueWei: 500n });
    expect(transferOf(REFILL)).toEqual({ to: LANE, valueWei: 900n });
    expect(transferOf(anAttempt())).toBeUndefined();
  });
});

describe('an attempt', () => {
  it('has its newest transaction last', () => {
    expect(newestTransactionOf(FUND).hash).toBe('0x02');
    expect(() => newestTransactionOf(anAttempt({ transactions: [] }))).toThrow(TypeError);
  });

  it.each([anAttempt(), FUND, REFILL, anAttempt({ newestBlock: { number: 6n, hash: '0x06' } })])(
    'is read as it was written: %#',
    (attempt) => {
      expect(decodeAttempt(encodeAttempt(attempt))).toEqual(attempt);
    },
  );
});
