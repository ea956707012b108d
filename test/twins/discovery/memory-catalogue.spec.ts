import { catalogueContract } from './catalogue-contract.js';
import { MemoryCatalogue } from './memory-catalogue.js';

catalogueContract('in memory', (entriesPerPayee) => {
  const catalogue = new MemoryCatalogue(entriesPerPayee);
  return Promise.resolve({
    writer: catalogue,
    reader: catalogue,
    statements: catalogue,
    deny: (_kind, value) => {
      catalogue.denied.add(value);
      return Promise.resolve();
    },
  });
});
