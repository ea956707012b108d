import type { StageEvent } from '../../../../src/settlement/model/settlement-machine.js';
import { MemorySettlementStore } from './memory-settlement-store.js';
import {
  CONTRACT_GRACE_MS,
  CONTRACT_UNCLAIMED_MS,
  describeSettlementStore,
} from './settlement-store-contract.js';

describeSettlementStore('MemorySettlementStore', () => {
  let now = 1_000_000;
  const store = new MemorySettlementStore(() => now, CONTRACT_GRACE_MS);
  const events =
    (...all: StageEvent[]) =>
    ({ id }: { id: string }): Promise<void> => {
      for (const event of all) store.happens(id, event);
      return Promise.resolve();
    };
  const held = new Set<string>();
  const take = (id: string): void => {
    if (held.has(id)) return;
    held.add(id);
    for (const event of ['job_seen', 'taken'] as const) store.happens(id, event);
  };
  return Promise.resolve({
    store,
    pass: (ms) => {
      now += ms;
      return Promise.resolve();
    },
    broadcast: ({ id }, transaction) => {
      take(id);
      store.happens(id, 'allocated', transaction);
      return Promise.resolve();
    },
    include: events('included'),
    replaceBlock: events('block_replaced'),
    finalize: events('finalized_paid'),
    unclaimed: () => Promise.resolve(store.unclaimed(CONTRACT_UNCLAIMED_MS)),
    revert: events('finalized_unpaid_reverted'),
    refuse: ({ id }, reason) => {
      take(id);
      store.happens(id, 'refused', undefined, reason);
      return Promise.resolve();
    },
    holdPlace: ({ id }, ms) => {
      take(id);
      now += ms;
      return Promise.resolve();
    },
    goBackBeforeSale: ({ id }, agoMs) => {
      now += 1 + (agoMs ?? 0);
      store.forgetSale(id);
      store.goBack(agoMs);
      return Promise.resolve();
    },
  });
});
