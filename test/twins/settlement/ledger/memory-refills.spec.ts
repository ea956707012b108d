import { MemoryLaneStore } from './memory-lane-store.js';
import { refillStoreContract } from './refill-store-contract.js';

refillStoreContract('a ledger in memory', () => {
  let now = 1_700_000_000_000;
  const store = new MemoryLaneStore(() => now);
  const unused = (): Promise<never> => Promise.reject(new Error('there are no settlements'));
  return Promise.resolve({
    store,
    refills: store.refills,
    claim: unused,
    tell: unused,
    stateOf: unused,
    transactionOf: unused,
    switch: (which, lane) => {
      store[which].add(lane);
      return Promise.resolve();
    },
    silence: (_, ms) => {
      now += ms;
      return Promise.resolve();
    },
    blameOf: () => Promise.resolve(0),
    spentOn: (chainId, subject, day) => Promise.resolve(store.gas.spentOn(chainId, subject, day)),
  });
});
