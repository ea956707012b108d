import { aBooked } from '../../../builders/history/reconciliation/records.js';
import { idOf } from '../../../builders/history/recorded-settlement.js';
import { describeBooks } from './books-contract.js';
import { MemoryBooks } from './memory-books.js';

describeBooks('books in memory', () => {
  const books = new MemoryBooks();
  return Promise.resolve({
    books,
    book: (entries) => {
      for (const { name, block: blockNumber, chainId, claimedAt } of entries) {
        books.rows.push({ ...aBooked({ id: idOf(name), blockNumber }), chainId, claimedAt });
      }
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  });
});
