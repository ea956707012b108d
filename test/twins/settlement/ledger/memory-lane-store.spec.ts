import { laneStoreContract } from './lane-store-contract.js';
import { MemoryLaneStore } from './memory-lane-store.js';

let claims = 0;

laneStoreContract('a ledger in memory', () => {
  let now = 1_700_000_000_000;
  const store = new MemoryLaneStore(() => now);
  return Promise.resolve({
    store,
    claim: (payment, options) => {
      claims += 1;
      store.claims.claim(`claim-${claims}`, payment, options);
      return Promise.resolve(`claim-${claims}`);
    },
    tell: (id, resubmissions) => {
      store.claims.tell(id, resubmissions);
      return Promise.resolve();
    },
    stateOf: (id) => Promise.resolve(store.claims.stateOf(id)),
    transactionOf: (id) => Promise.resolve(store.claims.endingOf(id).ending?.transaction),
    switch: (which, lane) => {
      store[which].add(lane);
      return Promise.resolve();
    },
    silence: (_, ms) => {
      now += ms;
      return Promise.resolve();
    },
    blameOf: (_, payer) => Promise.resolve(store.reverts.get(payer) ?? 0),
    spentOn: (chainId, subject, day) => Promise.resolve(store.gas.spentOn(chainId, subject, day)),
  });
});
