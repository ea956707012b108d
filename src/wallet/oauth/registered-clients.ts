import type { Redis } from 'ioredis';
import type { AdapterPayload } from 'oidc-provider';
import { redisCall, runScript, script } from '../../platform/redis/redis-scripts.js';
import type { RecordSeal } from '../seal/record-seal.js';
import { oauthClientKey, tagOf, waitingClientsKey, waitingClientsOfKey } from '../wallet-keys.js';

/** Of those that no owner has let in, whoever registered them. */
const WAITING_MAX = 10_000;
/** Of one network: a hundred of them fill the list. */
const NETWORK_MAX = 100;
/** A client that has just registered sends its owner here next. */
const ARRIVAL_SECONDS = 60;
const DAY_SECONDS = 86_400;
/** Longer than a grant, so that a client that signs in again is still known. */
const KNOWN_SECONDS = 180 * DAY_SECONDS;

/**
 * Two lists name the clients that wait: that of all, and that of the network each came from. A client's score
 * is the time until which it is needed. Before that it is not forgotten; afterwards it is when its place is
 * wanted, or in a day. A record names its network before a space.
 */
const NETWORK_OF = `local function listOf(prefix, record)
  return prefix .. string.match(record or '', '^%S*')
end`;

/**
 * ARGV: list of all, prefix of the networks' lists, prefix of records, network, tag, record, now, needed until,
 * seconds it is kept after that, most of all, most of a network.
 *
 * Returns 'added', 'network_full' or 'full'.
 */
const REGISTER = script(
  'wallet_client_register',
  `${NETWORK_OF}
local all, networks, records = ARGV[1], ARGV[2], ARGV[3]
local own, now, kept = networks .. ARGV[4], tonumber(ARGV[7]), tonumber(ARGV[9])
local function hasPlace(list, most)
  redis.call('ZREMRANGEBYSCORE', list, '-inf', now - kept)
  if redis.call('ZCARD', list) < tonumber(most) then return true end
  local oldest = redis.call('ZRANGE', list, 0, 0, 'WITHSCORES')
  if tonumber(oldest[2]) > now then return false end
  local key = records .. oldest[1]
  redis.call('ZREM', listOf(networks, redis.call('GET', key)), oldest[1])
  redis.call('ZREM', all, oldest[1])
  redis.call('ZREM', own, oldest[1])
  redis.call('DEL', key)
  return true
end
if not hasPlace(own, ARGV[11]) then return 'network_full' end
if not hasPlace(all, ARGV[10]) then return 'full' end
local life = ARGV[8] - now + kept
redis.call('SET', records .. ARGV[5], ARGV[4] .. ' ' .. ARGV[6], 'EX', life)
for _, list in ipairs({ all, own }) do
  redis.call('ZADD', list, ARGV[8], ARGV[5])
  redis.call('EXPIRE', list, life, 'NX')
  redis.call('EXPIRE', list, life, 'GT')
end
return 'added'`,
);

/** ARGV: list of all, prefix of the networks' lists, key of the record, tag, needed until, its life in seconds. */
const NEED = script(
  'wallet_client_need',
  `${NETWORK_OF}
if not redis.call('ZSCORE', ARGV[1], ARGV[4]) then return 0 end
for _, list in ipairs({ ARGV[1], listOf(ARGV[2], redis.call('GET', ARGV[3])) }) do
  redis.call('ZADD', list, 'XX', 'GT', ARGV[5], ARGV[4])
  redis.call('EXPIRE', list, ARGV[6], 'GT')
end
redis.call('EXPIRE', ARGV[3], ARGV[6], 'GT')
return 1`,
);

/** ARGV: list of all, prefix of the networks' lists, key of the record, tag, its life in seconds. */
const KEEP = script(
  'wallet_client_keep',
  `${NETWORK_OF}
redis.call('EXPIRE', ARGV[3], ARGV[5])
redis.call('ZREM', ARGV[1], ARGV[4])
redis.call('ZREM', listOf(ARGV[2], redis.call('GET', ARGV[3])), ARGV[4])
return 1`,
);

/** What became of a registration: no place is left for its network, or for anybody. */
type Registration = 'added' | 'network_full' | 'full';

/** Clients that registered themselves (RFC 7591). Anybody may, so they are few, small and forgotten. */
export class RegisteredClients {
  constructor(
    private readonly redis: Redis,
    private readonly seal: RecordSeal,
    private readonly now: () => number,
  ) {}

  /** @param network - where the registration came from. */
  async add(clientId: string, metadata: AdapterPayload, network: string): Promise<Registration> {
    const tag = tagOf(clientId);
    const record = this.seal.seal(oauthClientKey(tag), JSON.stringify(metadata));
    const now = this.now();
    const result = await runScript(this.redis, REGISTER, [
      waitingClientsKey(),
      waitingClientsOfKey(''),
      oauthClientKey(''),
      network,
      tag,
      record,
      now,
      now + ARRIVAL_SECONDS,
      DAY_SECONDS,
      WAITING_MAX,
      NETWORK_MAX,
    ]);
    return result as Registration;
  }

  async find(clientId: string): Promise<AdapterPayload | undefined> {
    const key = oauthClientKey(tagOf(clientId));
    const record = await redisCall('wallet_client', this.redis.get(key));
    const sealed = record?.slice(record.indexOf(' ') + 1);
    const text = sealed === undefined ? undefined : this.seal.open(key, sealed);
    return text === undefined ? undefined : (JSON.parse(text) as AdapterPayload);
  }

  /** Its owner was sent here, and has so many seconds to answer: it is not forgotten meanwhile. */
  async need(clientId: string, seconds: number): Promise<void> {
    const tag = tagOf(clientId);
    await runScript(this.redis, NEED, [
      waitingClientsKey(),
      waitingClientsOfKey(''),
      oauthClientKey(tag),
      tag,
      this.now() + seconds,
      seconds + DAY_SECONDS,
    ]);
  }

  /** An owner let it in: it is known for long, and counts no more among those that wait. */
  async keep(clientId: string): Promise<void> {
    const tag = tagOf(clientId);
    await runScript(this.redis, KEEP, [
      waitingClientsKey(),
      waitingClientsOfKey(''),
      oauthClientKey(tag),
      tag,
      KNOWN_SECONDS,
    ]);
  }
}
