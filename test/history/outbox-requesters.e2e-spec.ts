import { afterAll, afterEach } from '@jest/globals';
import { LedgerWorld } from '../settlement/ledger/ledger-world.js';
import {
  CHAIN_ID,
  describeSettlementStore,
} from '../twins/settlement/ledger/settlement-store-contract.js';
import { OutboxMirror } from './outbox-mirror.js';

let world: LedgerWorld | undefined;
let mirror: OutboxMirror | undefined;
/** A ledger that went back says nothing of it in its outbox. */
const gone = new Set<string>();

afterAll(() => world?.stop());

// Whatever requesters do to a ledger, its outbox leads to the same.
afterEach(async () => {
  await mirror?.catchUp();
  await mirror?.expectLedger(gone);
});

describeSettlementStore('RedisSettlementStore with an outbox', async () => {
  world = await (world?.anew() ?? LedgerWorld.start(undefined, true));
  mirror = new OutboxMirror(world.redis, CHAIN_ID, world.epochs);
  const inner = mirror.following(world.asStoreWorld());
  return {
    store: mirror.following(inner.store),
    pass: (ms) => inner.pass(ms),
    broadcast: (ref, transaction) => inner.broadcast(ref, transaction),
    include: (ref) => inner.include(ref),
    replaceBlock: (ref) => inner.replaceBlock(ref),
    finalize: (ref) => inner.finalize(ref),
    unclaimed: () => inner.unclaimed(),
    revert: (ref) => inner.revert(ref),
    refuse: (ref, reason) => inner.refuse(ref, reason),
    holdPlace: (ref, ms) => inner.holdPlace(ref, ms),
    goBackBeforeSale: async (ref, agoMs) => {
      gone.add(ref.id);
      await inner.goBackBeforeSale(ref, agoMs);
    },
  };
});
