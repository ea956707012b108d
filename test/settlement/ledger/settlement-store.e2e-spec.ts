import { afterAll } from '@jest/globals';
import { describeSettlementStore } from '../../support/settlement-store-contract.js';
import { LedgerWorld } from './ledger-world.js';

let world: LedgerWorld | undefined;
let split: LedgerWorld | undefined;
afterAll(() => Promise.all([world?.stop(), split?.stop()]));

describeSettlementStore('RedisSettlementStore', async () => {
  world ??= await LedgerWorld.start();
  return world.asStoreWorld();
});

describeSettlementStore('RedisSettlementStore in 16 partitions', async () => {
  split ??= await LedgerWorld.start(undefined, true, 16);
  return split.asStoreWorld();
});
