import { describe, expect, it } from '@jest/globals';
import { anAcceptedPayment } from '../../../../test/builders/protocol/payment/accepted-payment.js';
import { LearnedGasEstimates } from './gas-estimates.js';

describe('the gas book', () => {
  it('adds a margin to the most that was seen, up to the cap', () => {
    const book = new LearnedGasEstimates(150_000n);
    const payment = anAcceptedPayment();
    expect(book.limitFor(payment)).toBeUndefined();
    expect(book.note(payment, 100_000n)).toBe(120_000n);
    expect(book.note(payment, 60_000n)).toBe(120_000n);
    expect(book.note(payment, 140_000n)).toBe(150_000n);
    expect(book.note(payment, 150_001n)).toBeUndefined();
    expect(book.limitFor(payment)).toBe(150_000n);
  });

  it('is raised by a receipt, and does not begin with one: that payee may have had a balance', () => {
    const book = new LearnedGasEstimates(300_000n);
    const payment = anAcceptedPayment();
    book.raise(payment, 73_000n);
    expect(book.limitFor(payment)).toBeUndefined();
    book.note(payment, 90_000n);
    book.raise(payment, 73_000n);
    expect(book.limitFor(payment)).toBe(108_000n);
    book.raise(payment, 100_000n);
    expect(book.limitFor(payment)).toBe(120_000n);
  });

  it('counts what is behind a call by its length, which is another for each payment', () => {
    const book = new LearnedGasEstimates(300_000n);
    const [bare, long] = [
      anAcceptedPayment(),
      anAcceptedPayment({ dataSuffix: `0x${'ab'.repeat(400)}` }),
    ];
    // 6 400 of it for the 400 bytes.
    expect(book.note(long, 106_400n)).toBe(127_680n);
    expect(book.limitFor(bare)).toBe(120_000n);
    expect(book.note(bare, 110_000n)).toBe(132_000n);
    expect(book.limitFor(long)).toBe(139_680n);
  });

  it('forgets what it learned first when there are too many kinds', () => {
    const book = new LearnedGasEstimates(300_000n);
    const kindOf = (index: number) =>
      anAcceptedPayment({ asset: `0x${index.toString(16).padStart(40, '0')}` });
    for (let index = 0; index <= 2000; index += 1) book.note(kindOf(index), 50_000n);
    expect(book.limitFor(kindOf(0))).toBeUndefined();
    expect(book.limitFor(kindOf(2000))).toBe(60_000n);
  });
});
