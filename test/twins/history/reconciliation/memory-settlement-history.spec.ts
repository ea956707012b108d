import { aRecordedPayment } from '../../../builders/history/reconciliation/records.js';
import { idOf } from '../../../builders/history/recorded-settlement.js';
import { MemorySettlementHistory } from './memory-settlement-history.js';
import { describeSettlementHistory } from './settlement-history-contract.js';

describeSettlementHistory('books in memory', () => {
  const books = new MemorySettlementHistory();
  return Promise.resolve({
    books,
    book: (entries) => {
      for (const { name, block: blockNumber, chainId, claimedAt } of entries) {
        books.rows.push({
          ...aRecordedPayment({ id: idOf(name), blockNumber }),
          chainId,
          claimedAt,
        });
      }
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  });
});
