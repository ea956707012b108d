import { MemoryCatalogue } from '../memory-catalogue.js';
import { MemoryModeration } from './memory-moderation.js';
import { moderationContract } from './moderation-contract.js';

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
