import { afterAll } from '@jest/globals';
import { describeSettlementStore } from '../../support/settlement-store-contract.js';
import { LedgerWorld } from './ledger-world.js';

let world: LedgerWorld | undefined;
let archived: LedgerWorld | undefined;
afterAll(() => Promise.all([world?.stop(), archived?.stop()]));

describeSettlementStore('RedisSettlementStore', async () => {
  world ??= await LedgerWorld.start();
  return world.asStoreWorld();
});

describeSettlementStore('RedisSettlementStore with an outbox', async () => {
  archived ??= await LedgerWorld.start(undefined, true);
  return archived.asStoreWorld();
});
