import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { AdapterPayload } from 'oidc-provider';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runScript, script } from '../../platform/redis/redis-scripts.js';
import { RecordSeal } from '../seal/record-seal.js';
import {
  clientsOfNetworkKey,
  clientsOfOwnerKey,
  oauthClientKey,
  ownersOfClientKey,
  tagOf,
  waitingClientsKey,
  waitingClientsOfKey,
} from '../wallet-keys.js';
import { WALLET_CLOCK, type WalletClock } from '../wallet-tokens.js';

/** Limit of clients that no owner has approved, for all networks together. */
const WAITING_MAX = 10_000;
/** Limit for one network: a hundred networks fill the list. */
const NETWORK_MAX = 100;
/** Limit of approved clients of one owner: as many as it may have grants. */
const OWNER_MAX = 50;
/**
 * Limit of approved clients of one network, because anybody can make owners. A service registers all its clients from
 * one network.
 */
const NETWORK_KEPT_MAX = 10_000;
/** Time in which a newly registered client sends its owner here. */
const ARRIVAL_SECONDS = 60;
const DAY_SECONDS = 86_400;
/** Longer than a grant, so that a returning client is still known. */
const KNOWN_SECONDS = 180 * DAY_SECONDS;

/**
 * Two lists name the waiting clients: one for all, and one for the network each came from. A client's score is the time
 * until which it is needed. Until then it is kept; afterwards it is removed when its place is needed, or after a day. A
 * record holds its network before a space.
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

/**
 * ARGV: list of all, prefix of the networks' lists, prefix of records, tag, now, its life in seconds, list of the
 * owner, its limit, prefix of counts of owners, prefix of the networks' lists of approved clients, their limit; then
 * the tags of the owner's grants, which are removed last.
 *
 * Returns 1, or 0 where there is no such client.
 */
const KEEP = script(
  'wallet_client_keep',
  `${NETWORK_OF}
local records, tag, now, life = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local own, owners = ARGV[7], ARGV[9]
local record = redis.call('GET', records .. tag)
if not record then return 0 end
local function forget(other)
  redis.call('ZREM', listOf(ARGV[10], redis.call('GET', records .. other)), other)
  redis.call('DEL', records .. other, owners .. other)
end
redis.call('ZREM', ARGV[1], tag)
redis.call('ZREM', listOf(ARGV[2], record), tag)
if not redis.call('ZSCORE', own, tag) then redis.call('INCR', owners .. tag) end
local ofNetwork = listOf(ARGV[10], record)
redis.call('ZREMRANGEBYSCORE', ofNetwork, '-inf', now - life)
for _, list in ipairs({ own, ofNetwork }) do
  redis.call('ZADD', list, now, tag)
  redis.call('EXPIRE', list, life)
end
redis.call('EXPIRE', records .. tag, life)
redis.call('EXPIRE', owners .. tag, life)
if redis.call('ZCARD', own) > tonumber(ARGV[8]) then
  local isInUse = { [tag] = true }
  for at = 12, #ARGV do isInUse[ARGV[at]] = true end
  local goes
  for _, other in ipairs(redis.call('ZRANGE', own, 0, -1)) do
    if not isInUse[other] then
      goes = other
      break
    end
  end
  if not goes then
    local oldest = redis.call('ZRANGE', own, 0, 1)
    goes = oldest[1] == tag and oldest[2] or oldest[1]
  end
  redis.call('ZREM', own, goes)
  -- Another owner may have let it in, too.
  if redis.call('DECR', owners .. goes) <= 0 then forget(goes) end
end
if redis.call('ZCARD', ofNetwork) > tonumber(ARGV[11]) then
  local oldest = redis.call('ZRANGE', ofNetwork, 0, 1)
  local goes = oldest[1] == tag and oldest[2] or oldest[1]
  redis.call('ZREM', ofNetwork, goes)
  forget(goes)
end
return 1`,
);

/** The result of a registration: stored, or full for its network or in all. */
type Registration = 'added' | 'network_full' | 'full';

/** Clients that registered themselves (RFC 7591). Anybody may register, so they are few, small and short-lived. */
@Injectable()
export class RegisteredClients {
  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /** @param network - the network of the registration. */
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

  /** Its owner was sent here and has this many seconds to answer; the client is kept meanwhile. */
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

  /**
   * An owner approved it: it is kept for a long time, and counts among the owner's clients instead of the waiting ones.
   *
   * @param inUse - clients for which the owner has grants; others are removed before them.
   */
  async keep(clientId: string, owner: string, inUse: readonly string[]): Promise<void> {
    await runScript(this.redis, KEEP, [
      waitingClientsKey(),
      waitingClientsOfKey(''),
      oauthClientKey(''),
      tagOf(clientId),
      this.now(),
      KNOWN_SECONDS,
      clientsOfOwnerKey(owner),
      OWNER_MAX,
      ownersOfClientKey(''),
      clientsOfNetworkKey(''),
      NETWORK_KEPT_MAX,
      ...inUse.map(tagOf),
    ]);
  }
}
