import { describe, expect, it } from '@jest/globals';
import type { PayerTransaction } from '../../protocol/evm/payer-transaction.js';
import {
  nextPreparationStep,
  type PreparationFacts,
  type PreparationStep,
  topUpFor,
} from './preparation-step.js';

const TRANSACTION: PayerTransaction = {
  raw: '0x02',
  hash: `0x${'03'.repeat(32)}`,
  accountNonce: 3,
  gas: 100n,
  maxFeePerGas: 7n,
};
const NOTHING: PreparationFacts = {
  isDone: false,
  usedNonces: 3,
  balanceWei: 0n,
  funding: undefined,
};

describe("what comes next before a payment that needs a payer's own transaction", () => {
  it.each<[string, Partial<PreparationFacts>, PreparationStep]>([
    ['it funds who has nothing', {}, 'fund'],
    ['it funds who is short of one wei', { balanceWei: 699n }, 'fund'],
    ['it funds no payer that has enough', { balanceWei: 700n }, 'send'],
    [
      'it funds again for another transaction',
      { funding: { payerNonce: 2, isDone: true } },
      'fund',
    ],
    ['it waits for what was sent', { funding: { payerNonce: 3, isDone: false } }, 'wait'],
    ['it does not fund twice', { funding: { payerNonce: 3, isDone: true } }, 'spent'],
    ['it does not fund an older one', { funding: { payerNonce: 4, isDone: true } }, 'spent'],
    [
      'it sends once the coins are there',
      { balanceWei: 700n, funding: { payerNonce: 3, isDone: false } },
      'send',
    ],
    ['it goes on when the work is done', { isDone: true, usedNonces: 4 }, 'done'],
    ['it goes on when others have done it', { isDone: true }, 'done'],
    ['it gives up when the nonce is gone', { usedNonces: 4 }, 'lost'],
    ['it gives up, however rich the payer', { usedNonces: 9, balanceWei: 700n }, 'lost'],
    ['it waits for a block that comes again', { usedNonces: 2, balanceWei: 700n }, 'wait'],
  ])('%s', (_, facts, step) => {
    expect(nextPreparationStep({ ...NOTHING, ...facts }, TRANSACTION)).toBe(step);
  });

  it('sends only what is missing', () => {
    expect(topUpFor(0n, TRANSACTION)).toBe(700n);
    expect(topUpFor(699n, TRANSACTION)).toBe(1n);
  });
});
