import { MemoryCatalogue } from '../memory-catalogue.builder.js';
import { MemoryProbes } from './memory-probes.builder.js';
import { probesContract } from './probes-contract.builder.js';

probesContract('in memory', () => {
  const catalogue = new MemoryCatalogue();
  return Promise.resolve({
    catalogue,
    probes: new MemoryProbes(catalogue),
    deny: (_kind, value) => {
      catalogue.denied.add(value);
      return Promise.resolve();
    },
  });
});
