import { describe, expect, it } from '@jest/globals';
import { anAcceptedPayment } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import { MeasuredGasEstimates } from './gas-estimates.js';

describe('the gas estimates', () => {
  it('adds a margin to the most that was seen, up to the cap', () => {
    const estimates = new MeasuredGasEstimates(150_000n);
    const payment = anAcceptedPayment();
    expect(estimates.limitFor(payment)).toBeUndefined();
    expect(estimates.note(payment, 100_000n)).toBe(120_000n);
    expect(estimates.note(payment, 60_000n)).toBe(120_000n);
    expect(estimates.note(payment, 140_000n)).toBe(150_000n);
    expect(estimates.note(payment, 150_001n)).toBeUndefined();
    expect(estimates.limitFor(payment)).toBe(150_000n);
  });

  it('is raised by a receipt, and does not begin with one: that payee may have had a balance', () => {
    const estimates = new MeasuredGasEstimates(300_000n);
    const payment = anAcceptedPayment();
    estimates.raise(payment, 73_000n);
    expect(estimates.limitFor(payment)).toBeUndefined();
    estimates.note(payment, 90_000n);
    estimates.raise(payment, 73_000n);
    expect(estimates.limitFor(payment)).toBe(108_000n);
    estimates.raise(payment, 100_000n);
    expect(estimates.limitFor(payment)).toBe(120_000n);
  });

  it('counts what is behind a call by its length, which is another for each payment', () => {
    const estimates = new MeasuredGasEstimates(300_000n);
    const [bare, long] = [
      anAcceptedPayment(),
      anAcceptedPayment({ dataSuffix: `0x${'ab'.repeat(400)}` }),
    ];
    // 6 400 of it for the 400 bytes.
    expect(estimates.note(long, 106_400n)).toBe(127_680n);
    expect(estimates.limitFor(bare)).toBe(120_000n);
    expect(estimates.note(bare, 110_000n)).toBe(132_000n);
    expect(estimates.limitFor(long)).toBe(139_680n);
  });

  it('forgets what it learned first when there are too many kinds', () => {
    const estimates = new MeasuredGasEstimates(300_000n);
    const kindOf = (index: number) =>
      anAcceptedPayment({ asset: `0x${index.toString(16).padStart(40, '0')}` });
    for (let index = 0; index <= 2000; index += 1) estimates.note(kindOf(index), 50_000n);
    expect(estimates.limitFor(kindOf(0))).toBeUndefined();
    expect(estimates.limitFor(kindOf(2000))).toBe(60_000n);
  });
});
