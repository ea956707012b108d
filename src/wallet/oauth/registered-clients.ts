import type { Redis } from 'ioredis';
import type { AdapterPayload } from 'oidc-provider';
import { redisCall, runScript, script } from '../../platform/redis/redis-scripts.js';
import type { RecordSeal } from '../seal/record-seal.js';
import { oauthClientKey, tagOf, waitingClientsKey } from '../wallet-keys.js';

/** Of those that no owner has let in. The oldest goes: whoever fills the list locks nobody out for long. */
const WAITING_MAX = 10_000;
const DAY_SECONDS = 86_400;
/** Longer than a grant, so that a client that signs in again is still known. */
const KNOWN_SECONDS = 180 * DAY_SECONDS;

/** ARGV: list of waiting ones, prefix of keys, tag, record, now in seconds, life in seconds, most that wait. */
const REGISTER = script(
  'wallet_client_register',
  `redis.call('ZREMRANGEBYSCORE', ARGV[1], '-inf', ARGV[5] - ARGV[6])
redis.call('ZADD', ARGV[1], ARGV[5], ARGV[3])
redis.call('EXPIRE', ARGV[1], ARGV[6])
redis.call('SET', ARGV[2] .. ARGV[3], ARGV[4], 'EX', ARGV[6])
if redis.call('ZCARD', ARGV[1]) > tonumber(ARGV[7]) then
  local oldest = redis.call('ZPOPMIN', ARGV[1])
  redis.call('DEL', ARGV[2] .. oldest[1])
end
return 1`,
);

/** Clients that registered themselves (RFC 7591). Anybody may, so they are few, small and forgotten. */
export class RegisteredClients {
  constructor(
    private readonly redis: Redis,
    private readonly seal: RecordSeal,
    private readonly now: () => number,
  ) {}

  async add(clientId: string, metadata: AdapterPayload): Promise<void> {
    const tag = tagOf(clientId);
    const record = this.seal.seal(oauthClientKey(tag), JSON.stringify(metadata));
    await runScript(this.redis, REGISTER, [
      ...[waitingClientsKey(), oauthClientKey(''), tag, record],
      ...[this.now(), DAY_SECONDS, WAITING_MAX],
    ]);
  }

  async find(clientId: string): Promise<AdapterPayload | undefined> {
    const key = oauthClientKey(tagOf(clientId));
    const sealed = await redisCall('wallet_client', this.redis.get(key));
    const text = sealed === null ? undefined : this.seal.open(key, sealed);
    return text === undefined ? undefined : (JSON.parse(text) as AdapterPayload);
  }

  /** An owner let it in: it is known for long, and counts no more among those that wait. */
  async keep(clientId: string): Promise<void> {
    const tag = tagOf(clientId);
    await redisCall('wallet_client', this.redis.expire(oauthClientKey(tag), KNOWN_SECONDS));
    await redisCall('wallet_client', this.redis.zrem(waitingClientsKey(), tag));
  }
}
