import { catalogueContract } from './catalogue-contract.builder.js';
import { MemoryCatalogue } from './memory-catalogue.builder.js';

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
