import { describe, expect, it } from '@jest/globals';
import { Tries } from '../following/tries.js';
import { refusalOf, resendActionFor, type WaitingAttempt } from './resend-policy.js';

const waiting = (more: Partial<WaitingAttempt> = {}): WaitingAttempt => ({
  refusal: undefined,
  isTaken: true,
  transactions: 1,
  isFirst: true,
  blocksSinceSent: 0n,
  blocksSincePriced: 0n,
  ...more,
});

describe('pushFor', () => {
  it.each<[string, Partial<WaitingAttempt>, ReturnType<typeof resendActionFor>]>([
    ['waits for the next blocks', {}, 'wait'],
    ['sends the same again', { blocksSinceSent: 4n }, 'same'],
    ['bumps the fee of what is stuck', { blocksSinceSent: 4n, blocksSincePriced: 8n }, 'bumpFees'],
    ['bumps the fee of what is too cheap', { refusal: 'price' }, 'bumpFees'],
    [
      'bumps the fee of only the first',
      { isFirst: false, refusal: 'price', blocksSincePriced: 9n },
      'wait',
    ],
    ['cancels what no pool takes', { refusal: 'bytes', isTaken: false }, 'cancel'],
    ['cancels it wherever it stands', { refusal: 'bytes', isFirst: false }, 'cancel'],
    [
      'cancels what no node ever said to have',
      { isTaken: false, transactions: 3, blocksSincePriced: 8n },
      'cancel',
    ],
    [
      'bumps the fee once and twice before that',
      { isTaken: false, transactions: 2, blocksSincePriced: 8n },
      'bumpFees',
    ],
  ])('%s', (_, more, push) => {
    expect(resendActionFor(waiting(more))).toBe(push);
  });
});

describe('refusalOf', () => {
  const underpriced = { kind: 'underpriced', leastTipWei: undefined } as const;
  it.each([
    ['no endpoint was asked', [], undefined],
    ['one has it', [{ kind: 'rejected' }, { kind: 'accepted' }], undefined],
    ['one had it before', [{ kind: 'already_known' }, underpriced], undefined],
    ['no endpoint says why', [{ kind: 'unknown' }], undefined],
    ['it is too cheap for all', [underpriced, { kind: 'unknown' }], 'price'],
    ['all say it is not to be had', [{ kind: 'rejected' }, { kind: 'unknown' }], 'bytes'],
  ] as const)('%s', (_, results, refusal) => {
    expect(refusalOf(results)).toBe(refusal);
  });
});

describe('Tries', () => {
  it('ends after three, with a pause after each', () => {
    const tries = new Tries();
    expect(tries.failed('a', 0, 1n)).toBe(false);
    expect(tries.mayTry('a', 249)).toBe(false);
    expect(tries.mayTry('a', 250)).toBe(true);
    expect(tries.mayTry('b', 0)).toBe(true);
    expect(tries.failed('a', 250, 2n)).toBe(false);
    expect(tries.failed('a', 2000, 3n)).toBe(true);
  });

  it('does not count while there is no newer block', () => {
    const tries = new Tries();
    for (let now = 0; now < 10; now += 1) expect(tries.failed('a', now, 1n)).toBe(false);
  });
});
