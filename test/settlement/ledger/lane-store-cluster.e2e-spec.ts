import { afterAll, beforeAll } from '@jest/globals';
import type { Redis } from 'ioredis';
import { Secret } from '../../../src/platform/config/secret.js';
import { ledgerTag } from '../../../src/platform/redis/hash-slot.js';
import {
  LedgerConnections,
  type SharedRedis,
} from '../../../src/platform/redis/ledger-connections.js';
import { connectShared } from '../../../src/platform/redis/redis-connection.js';
import { ClusterGroup } from '../../support/cluster-group.js';
import { laneStoreContract } from '../../twins/settlement/ledger/lane-store-contract.js';
import { emptyLedger } from './empty-ledger.js';

const CHAIN = 56;

let cluster: ClusterGroup;
let shared: SharedRedis;
let redis: Redis;

beforeAll(async () => {
  cluster = await ClusterGroup.start();
  shared = connectShared(new Secret(cluster.url));
  await shared.connect();
  redis = cluster.client(ledgerTag(CHAIN));
  await redis.ping();
}, 60_000);
afterAll(async () => {
  redis.disconnect();
  shared.disconnect();
  await cluster.stop();
});

// A node refuses a script that touches a key of another one, declared or not. The outbox is of every step.
laneStoreContract('a ledger in a Redis Cluster', () =>
  emptyLedger(redis, true, new LedgerConnections(shared, new Map([[ledgerTag(CHAIN), redis]]))),
);
