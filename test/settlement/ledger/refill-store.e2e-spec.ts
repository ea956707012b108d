import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Address } from 'viem';
import { freePort } from '../../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../../sandbox/redis.js';
import { LedgerConnections } from '../../../src/platform/redis/ledger-connections.js';
import { LedgerEpochs } from '../../../src/settlement/ledger/epoch.js';
import { laneKey, laneRefillsKey, laneSpentKey } from '../../../src/settlement/ledger/keys.js';
import type { HeldLane } from '../../../src/settlement/ledger/lane-store.js';
import { LedgerScripts } from '../../../src/settlement/ledger/ledger-scripts.js';
import { knownLanes } from '../../../src/settlement/ledger/queries/known-lanes.js';
import { knownRefills } from '../../../src/settlement/ledger/queries/known-refills.js';
import { RedisRefillStore } from '../../../src/settlement/ledger/redis-refill-store.js';
import type { Attempt } from '../../../src/settlement/model/attempt.js';
import {
  refillStoreContract,
  type RefillStoreHarness,
} from '../../twins/settlement/ledger/refill-store-contract.js';
import { emptyLedger } from './empty-ledger.js';

const CHAIN = 56;
const TREASURY: Address = `0x${'aa'.repeat(20)}`;
const LANE = `${CHAIN}:${TREASURY}`;
const TO: Address = `0x${'bb'.repeat(20)}`;
const DAY = '2026-11-21';

let server: SandboxRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis(await freePort());
  redis = new Redis(server.url, { enableAutoPipelining: true });
});
afterAll(async () => {
  redis.disconnect();
  await server.stop('SIGKILL');
});

async function aLedger(): Promise<RefillStoreHarness> {
  const harness = await emptyLedger(redis);
  const ledger = new LedgerConnections(redis);
  const epochs = new LedgerEpochs(ledger, false);
  await epochs.start([CHAIN]);
  return { ...harness, refills: new RedisRefillStore(new LedgerScripts(ledger, epochs)) };
}

refillStoreContract('a ledger in Redis', aLedger);

describe('the refills of a ledger in Redis', () => {
  const hash = `0x${'0'.repeat(63)}1` as const;
  const refill: Attempt = {
    accountNonce: 0,
    kind: 'refill',
    settlementIds: [],
    allocatedAtBlock: 5n,
    refill: { to: TO, valueWei: 7n },
    transactions: [
      {
        hash,
        raw: '0x02',
        gas: 21_000n,
        isNoop: false,
        signedAt: 1,
        maxFeePerGas: 1n,
        maxPriorityFeePerGas: 1n,
      },
    ],
  };
  const budget = { costGwei: 10n, laneGwei: 100n, day: DAY };

  async function started(): Promise<{ harness: RefillStoreHarness; held: HeldLane }> {
    const harness = await aLedger();
    const held = await harness.store.leases.acquire(LANE, CHAIN, 'p1', 60_000);
    if (held === undefined) throw new Error('the lane is not free');
    await harness.store.leases.setNext(held, undefined, 0);
    return { harness, held };
  }

  it('are known to the books while they are on their way and when they are final', async () => {
    const { harness, held } = await started();
    await harness.refills.refill(held, refill, budget);
    expect(new Set(await knownLanes(new LedgerConnections(redis), CHAIN))).toEqual(
      new Set([TREASURY, TO]),
    );
    const known = () => knownRefills(new LedgerConnections(redis), CHAIN, [TREASURY, TO]);
    expect(await known()).toEqual(new Map([[TREASURY, new Map([[0, [hash]]])]]));
    await harness.store.attempts.closeAttempt(held, 0, 0n);
    expect(await known()).toEqual(new Map([[TREASURY, new Map([[0, [hash]]])]]));
    await redis.hset(laneRefillsKey(CHAIN, LANE), '0', 'nonsense');
    expect(await known()).toEqual(new Map([[TREASURY, new Map([[0, []]])]]));
  });

  it('are not sent where what the day has cost is no number', async () => {
    const { harness, held } = await started();
    await redis.set(laneSpentKey(CHAIN, LANE, DAY), 'nonsense');
    await expect(harness.refills.refill(held, refill, budget)).rejects.toThrow();
    expect((await harness.store.leases.open(held)).attempts).toEqual([]);
    expect((await harness.refills.refillRecord(held, DAY)).spentGwei).toBe(0n);
  });

  it.each(['nonsense', 'null', '{"to":"<b>"}', '{"to":1,"valueWei":{},"accountNonce":-1.5}'])(
    'are shown to nobody where the ledger holds %s',
    async (text) => {
      const { harness, held } = await started();
      await redis.hset(laneKey(CHAIN, LANE), 'refill', text);
      expect(await harness.refills.refillRecord(held, DAY)).toEqual({
        spentGwei: 0n,
        last: undefined,
      });
    },
  );
});
