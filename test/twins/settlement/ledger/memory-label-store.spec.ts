import { labelStoreContract } from './label-store-contract.js';
import { MemoryLabelStore } from './memory-label-store.js';

labelStoreContract('in memory', () => Promise.resolve(new MemoryLabelStore()));
