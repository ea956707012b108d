import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { LEDGER_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runKeyedScript, script } from '../../platform/redis/redis-scripts.js';
import { type Simulated, type SimulatedSale, SimulatedSettlement } from './simulated-settlement.js';

/** How long a simulated settlement can be looked up and requested again. */
const KEPT_SECONDS = 900;
/** Limit for one API key. */
export const KEPT_MOST = 1000;

/** The store of simulated settlements; it holds no data of the ledger. */
export interface SimulationStore {
  /**
   * Stores a settlement, unless it is stored already.
   *
   * @returns the stored settlement and whether this call created it; `full` where the API key has too many.
   */
  begin(
    caller: string,
    settlement: SimulatedSettlement,
  ): Promise<(Simulated & { readonly isNew: boolean }) | 'full'>;
  find(id: string): Promise<Simulated | undefined>;
  /** @returns whether this requester holds the sale now. */
  sell(id: string, sale: SimulatedSale): Promise<boolean>;
  rollBack(id: string, requester: string): Promise<void>;
}

/** KEYS[1] the settlement, KEYS[2] those of its API key; ARGV record, id, seconds, most. Returns 0 full, 1 new, 2 known. */
const BEGIN = script(
  'simulation_begin',
  String.raw`
if redis.call('EXISTS', KEYS[1]) == 1 then return 2 end
local now = tonumber(redis.call('TIME')[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - tonumber(ARGV[3]))
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[4]) then return 0 end
redis.call('HSET', KEYS[1], 'settlement', ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[3])
redis.call('ZADD', KEYS[2], now, ARGV[2])
redis.call('EXPIRE', KEYS[2], ARGV[3])
return 1
`,
);

/** KEYS[1] the settlement; ARGV requester, key tag, milliseconds. Returns 1 when it is sold to this requester. */
const SELL = script(
  'simulation_sell',
  String.raw`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local sold = redis.call('HGET', KEYS[1], 'requester')
if sold then return sold == ARGV[1] and 1 or 0 end
redis.call('HSET', KEYS[1], 'requester', ARGV[1], 'keyTag', ARGV[2], 'at', ARGV[3])
return 1
`,
);

/** KEYS[1] the settlement; ARGV requester. Returns how many fields went. */
const TAKE_BACK = script(
  'simulation_take_back',
  String.raw`
if redis.call('HGET', KEYS[1], 'requester') ~= ARGV[1] then return 0 end
return redis.call('HDEL', KEYS[1], 'requester', 'keyTag', 'at')
`,
);

/**
 * In Redis, so that every process gives the same answer.
 *
 * | key | type | lifetime | holds |
 * |---|---|---|---|
 * | `x402:{simulation}:s:<id>` | hash | 15 min | the settlement as JSON, its sale |
 * | `x402:{simulation}:of:<API key>` | sorted set | 15 min | ids of an API key by the second they began |
 *
 * @throws RedisUnavailableError from every method.
 */
@Injectable()
export class RedisSimulationStore implements SimulationStore {
  constructor(@Inject(LEDGER_REDIS) private readonly redis: Redis) {}

  async begin(
    caller: string,
    settlement: SimulatedSettlement,
  ): Promise<(Simulated & { readonly isNew: boolean }) | 'full'> {
    const { id } = settlement;
    const begun = await runKeyedScript(
      this.redis,
      BEGIN,
      [keyOf(id), `${PREFIX}of:${createHash('sha256').update(caller).digest('base64url')}`],
      [JSON.stringify(settlement), id, KEPT_SECONDS, KEPT_MOST],
    );
    if (begun === 0) return 'full';
    if (begun === 1) return { settlement, sale: undefined, isNew: true };
    // The first may expire between the two calls. Then this call has created it.
    const known = await this.find(id);
    return known === undefined ? this.begin(caller, settlement) : { ...known, isNew: false };
  }

  async find(id: string): Promise<Simulated | undefined> {
    const kept = await redisCall('simulation_find', this.redis.hgetall(keyOf(id)));
    const { settlement, requester, keyTag = '', at } = kept;
    if (settlement === undefined) return undefined;
    return {
      settlement: SimulatedSettlement.parse(JSON.parse(settlement)),
      sale: requester === undefined ? undefined : { requester, keyTag, at: Number(at) },
    };
  }

  async sell(id: string, { requester, keyTag, at }: SimulatedSale): Promise<boolean> {
    const sold = await runKeyedScript(this.redis, SELL, [keyOf(id)], [requester, keyTag, at]);
    return sold === 1;
  }

  async rollBack(id: string, requester: string): Promise<void> {
    await runKeyedScript(this.redis, TAKE_BACK, [keyOf(id)], [requester]);
  }
}

const PREFIX = 'x402:{simulation}:';
const keyOf = (id: string): string => `${PREFIX}s:${id}`;
