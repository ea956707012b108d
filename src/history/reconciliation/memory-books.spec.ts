import { describeBooks } from '../../../test/support/books-contract.js';
import { idOf } from '../recorded-settlement.builder.js';
import { aBooked } from './books.builder.js';
import { MemoryBooks } from './memory-books.builder.js';

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
