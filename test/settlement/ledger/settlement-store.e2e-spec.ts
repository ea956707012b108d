import { afterAll } from '@jest/globals';
import { describeSettlementStore } from '../../support/settlement-store-contract.js';
import { LedgerWorld } from './ledger-world.js';

let world: LedgerWorld | undefined;
afterAll(() => world?.stop());

describeSettlementStore('RedisSettlementStore', async () => {
  world ??= await LedgerWorld.start();
  return world.asStoreWorld();
});
