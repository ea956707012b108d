import { MemoryCatalogue } from '../memory-catalogue.builder.js';
import { callsContract } from './calls-contract.builder.js';
import { MemoryCalls } from './memory-calls.builder.js';

callsContract('in memory', () => {
  const catalogue = new MemoryCatalogue();
  const calls = new MemoryCalls(catalogue);
  return Promise.resolve({
    catalogue,
    calls,
    settle: (settlements) => {
      for (const one of settlements) calls.settlements.set(one.id, one);
      return Promise.resolve();
    },
  });
});
