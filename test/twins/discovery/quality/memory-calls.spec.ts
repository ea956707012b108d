import { MemoryCatalogue } from '../memory-catalogue.js';
import { callsContract } from './calls-contract.js';
import { MemoryCalls } from './memory-calls.js';

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
