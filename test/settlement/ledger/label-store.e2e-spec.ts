import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../../sandbox/redis.js';
import { labelKey } from '../../../src/settlement/ledger/keys.js';
import { RedisLabelStore } from '../../../src/settlement/ledger/redis-label-store.js';
import { labelStoreContract } from '../../twins/settlement/ledger/label-store-contract.js';

let server: SandboxRedis;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis(await freePort());
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop('SIGKILL');
});

labelStoreContract('in Redis', async () => {
  await redis.flushall();
  return new RedisLabelStore(redis, { retentionSeconds: 3600 });
});

it('labels in Redis are forgotten with what they lead to', async () => {
  await new RedisLabelStore(redis, { retentionSeconds: 3600 }).note('a', { chainId: 56, id: 'b' });
  expect(await redis.ttl(labelKey('a'))).toBeGreaterThan(3500);
});
