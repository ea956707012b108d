import { MemoryCatalogue } from '../memory-catalogue.builder.js';
import { MemoryModeration } from './memory-moderation.builder.js';
import { moderationContract } from './moderation-contract.builder.js';

moderationContract('in memory', () => {
  const catalogue = new MemoryCatalogue();
  const store = new MemoryModeration(catalogue);
  return Promise.resolve({
    store,
    writer: catalogue,
    reader: catalogue,
    audit: () => Promise.resolve(store.audit),
  });
});
