import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../sandbox/redis.js';
import { emptyLedger } from '../settlement/ledger/empty-ledger.js';
import { laneStoreContract } from '../twins/settlement/ledger/lane-store-contract.js';
import { OutboxMirror } from './outbox-mirror.js';

const CHAIN_ID = 56;

let server: SandboxRedis;
let redis: Redis;
let mirror: OutboxMirror;

beforeAll(async () => {
  server = await startRedis(await freePort());
  redis = new Redis(server.url, { enableAutoPipelining: true });
});
afterAll(async () => {
  redis.disconnect();
  await server.stop('SIGKILL');
});

// Whatever lanes do to a ledger, its outbox leads to the same.
afterEach(async () => {
  await mirror.catchUp();
  await mirror.expectLedger();
});

laneStoreContract('a ledger in Redis with an outbox', async () => {
  const ledger = await emptyLedger(redis, true);
  mirror = new OutboxMirror(redis, CHAIN_ID);
  return { ...ledger, store: mirror.following(ledger.store) };
});
