import { afterAll, beforeAll } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../../sandbox/redis.js';
import { laneStoreContract } from '../../twins/settlement/ledger/lane-store-contract.js';
import { emptyLedger } from './empty-ledger.js';

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

laneStoreContract('a ledger in Redis', () => emptyLedger(redis));

laneStoreContract('a ledger in Redis with an outbox', () => emptyLedger(redis, true));
