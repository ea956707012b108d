import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { freePort } from '../../../sandbox/processes.js';
import { type SandboxRedis, startRedis } from '../../../sandbox/redis.js';
import { LedgerConnections } from '../../../src/platform/redis/ledger-connections.js';
import { declarationKeys } from '../../../src/settlement/ledger/keys.js';
import { RedisDeclarationNotes } from '../../../src/settlement/ledger/redis-declaration-notes.js';
import { declarationNotesContract } from '../../twins/settlement/ledger/declaration-notes-contract.js';

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

declarationNotesContract('in Redis', async (most) => {
  await redis.flushall();
  return new RedisDeclarationNotes(new LedgerConnections(redis), most);
});

it('notes in Redis leave nothing behind', async () => {
  await redis.flushall();
  const notes = new RedisDeclarationNotes(new LedgerConnections(redis));
  await notes.note({ chainId: 56, id: 'a' }, { tag: 't', content: 'text' });
  await notes.forget(56, await notes.read(56, undefined, 10));
  const [stream = '', contents = '', uses = ''] = declarationKeys(56);
  expect([await redis.xlen(stream), await redis.exists(contents)]).toEqual([0, 0]);
  expect(await redis.hgetall(uses)).toEqual({ characters: '0' });
});
