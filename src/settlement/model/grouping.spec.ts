import { describe, expect, it } from '@jest/globals';
import {
  anAcceptedPayment,
  anUndeployedAuthorization,
  aPermit2Authorization,
} from '../../../test/builders/protocol/payment/accepted-payment.js';
import { assetNameOf } from '../../protocol/payment/accepted-payment.js';
import {
  batchGas,
  type BatchRules,
  gasBoundOf,
  groupForSending,
  type Sendable,
} from './grouping.js';

const rules: BatchRules = {
  maxItems: 3,
  safeAssets: new Set([assetNameOf(anAcceptedPayment())]),
  optOut: new Set(),
  maxGas: gasBoundOf(0n),
};
const LIMIT = 100_000n;
let ids = 0;
const aSendable = (overrides: Partial<Sendable> = {}): Sendable => {
  ids += 1;
  return { id: `s${ids}`, payment: anAcceptedPayment(), goesAlone: false, ...overrides };
};
const shape = (items: readonly Sendable[], by: BatchRules = rules) => {
  const { batches, singles } = groupForSending(items, by, () => LIMIT);
  return { batches: batches.map((batch) => batch.length), singles: singles.length };
};

describe('groupForSending', () => {
  it('sends one settlement alone and several together', () => {
    expect(shape([])).toEqual({ batches: [], singles: 0 });
    expect(shape([aSendable()])).toEqual({ batches: [], singles: 1 });
    expect(shape([aSendable(), aSendable()])).toEqual({ batches: [2], singles: 0 });
  });

  it('fills batches up to the limit', () => {
    expect(shape(Array.from({ length: 7 }, () => aSendable()))).toEqual({
      batches: [3, 3],
      singles: 1,
    });
  });

  it.each<[string, Partial<Sendable>]>([
    ['was in a batch that did not pay it', { goesAlone: true }],
    ['has a payer with code', { payment: anAcceptedPayment({ payerHasCode: true }) }],
    [
      'has a payer whose wallet is yet to be made',
      { payment: anAcceptedPayment({ authorization: anUndeployedAuthorization() }) },
    ],
    ['is of a token whose code is not trusted', { payment: anAcceptedPayment({ chainId: 97 }) }],
  ])('sends a settlement alone that %s', (_, overrides) => {
    expect(shape([aSendable(overrides), aSendable(), aSendable()])).toEqual({
      batches: [2],
      singles: 1,
    });
  });

  it('sends alone what a payee wants alone', () => {
    const optOut = new Set([anAcceptedPayment().payTo]);
    expect(shape([aSendable(), aSendable()], { ...rules, optOut })).toEqual({
      batches: [],
      singles: 2,
    });
  });

  it('keeps payments apart that would leave the same trace, when one is Permit2', () => {
    const permit2 = (): Sendable =>
      aSendable({ payment: anAcceptedPayment({ authorization: aPermit2Authorization() }) });
    expect(shape([permit2(), permit2()])).toEqual({ batches: [], singles: 2 });
    expect(shape([permit2(), aSendable()])).toEqual({ batches: [], singles: 2 });
    expect(shape([aSendable(), aSendable(), permit2()])).toEqual({ batches: [2], singles: 1 });
    const other = aSendable({
      payment: anAcceptedPayment({ amount: 7n, authorization: aPermit2Authorization() }),
    });
    expect(shape([permit2(), other])).toEqual({ batches: [2], singles: 0 });
  });

  it('bounds a batch by the gas limits of its items, not only by their number', () => {
    const fitsTwo = { ...rules, maxGas: batchGas([LIMIT, LIMIT]) };
    expect(shape([aSendable(), aSendable(), aSendable()], fitsTwo)).toEqual({
      batches: [2],
      singles: 1,
    });
    const fitsOne = { ...rules, maxGas: batchGas([LIMIT, LIMIT]) - 1n };
    expect(shape([aSendable(), aSendable()], fitsOne)).toEqual({ batches: [], singles: 2 });
  });
});

describe('batchGas', () => {
  it('has room for each item, and for what Multicall3 does with it', () => {
    expect(batchGas([])).toBe(30_000n);
    expect(batchGas([100_000n, 50_000n])).toBe(196_000n);
  });
});

describe('gasBoundOf', () => {
  it('is a part of the block, and never more than a transaction may have', () => {
    expect(gasBoundOf(8_000_000n)).toBe(2_000_000n);
    expect(gasBoundOf(140_000_000n)).toBe(16_777_216n);
    expect(gasBoundOf(0n)).toBe(16_777_216n);
  });
});
