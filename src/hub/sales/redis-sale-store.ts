import type { Redis } from 'ioredis';
import { runKeyedScript, script } from '../../platform/redis/redis-scripts.js';
import { redisCall } from '../../platform/redis/redis-scripts.js';
import { currentSaleKey, saleKey } from '../index/keys.js';
import { fileTagOf } from './offer.js';
import type { PaidSale, Sale, SaleStore } from './sale.js';

/** How long an unclaimed payment is kept: as long, its buyer can still be served. */
const UNPAID_KEPT_SECONDS = 30 * 86_400;
/** How long after its deadline a payment of unknown outcome keeps its payer from another one. */
const UNPAID_CURRENT_SECONDS = 3600;
/** A sale is kept for as long as its payment could be presented again. */
const CLOCK_SLACK_SECONDS = 600;

/**
 * | KEYS | |
 * |---|---|
 * | 1 | the sale of this payment |
 * | 2 | authorization of the sale that this payer has of the file |
 *
 * | ARGV | |
 * |---|---|
 * | 1 | the sale as JSON |
 * | 2 | its authorization |
 * | 3, 4 | Unix seconds at which each key ends |
 * | 5 | what stands before an authorization in a key |
 *
 * Returns the sale that there is.
 */
const BEGIN = script(
  'hub sale begin',
  String.raw`
local same = redis.call('GET', KEYS[1])
if same then return same end
local other = redis.call('GET', KEYS[2])
if other then
  local sale = redis.call('GET', ARGV[5] .. other)
  if sale then return sale end
end
redis.call('SET', KEYS[1], ARGV[1], 'EXAT', ARGV[3])
redis.call('SET', KEYS[2], ARGV[2], 'EXAT', ARGV[4])
return ARGV[1]
`,
);

/** Like {@link BEGIN}, with the sale as paid. Returns the sale that is kept: one that was paid before stays. */
const COMPLETE = script(
  'hub sale complete',
  String.raw`
local old = redis.call('GET', KEYS[1])
if old and cjson.decode(old).paid then return old end
redis.call('SET', KEYS[1], ARGV[1], 'EXAT', ARGV[3])
redis.call('SET', KEYS[2], ARGV[2], 'EXAT', ARGV[4])
return ARGV[1]
`,
);

/** KEYS like {@link BEGIN}; ARGV 1: authorization. Takes the sale away unless it is paid. */
const DROP = script(
  'hub sale drop',
  String.raw`
local old = redis.call('GET', KEYS[1])
if old and cjson.decode(old).paid then return 0 end
redis.call('DEL', KEYS[1])
if redis.call('GET', KEYS[2]) == ARGV[1] then redis.call('DEL', KEYS[2]) end
return 1
`,
);

/** Sales in the hub's Redis. */
export class RedisSaleStore implements SaleStore {
  constructor(private readonly redis: Redis) {}

  async begin(sale: Sale): Promise<Sale> {
    const ends = [sale.deadline + UNPAID_KEPT_SECONDS, sale.deadline + UNPAID_CURRENT_SECONDS];
    return saleIn(await this.#run(BEGIN, sale, ends));
  }

  async find(authorizationId: string): Promise<Sale | undefined> {
    const text = await redisCall('hub sale', this.redis.get(saleKey(authorizationId)));
    return text === null ? undefined : saleIn(text);
  }

  async current(payer: string, fileTag: string): Promise<Sale | undefined> {
    const key = currentSaleKey(payer, fileTag);
    const authorizationId = await redisCall('hub sale', this.redis.get(key));
    return authorizationId === null ? undefined : this.find(authorizationId);
  }

  async complete(sale: Sale, paid: PaidSale): Promise<Sale> {
    const kept = Math.max(paid.until, sale.deadline) + CLOCK_SLACK_SECONDS;
    // The payment is not presented again, and a buyer may have put much into it.
    const completed = { ...sale, paymentPayload: {}, paymentRequirements: {}, paid };
    return saleIn(await this.#run(COMPLETE, completed, [kept, paid.until]));
  }

  async drop(sale: Sale): Promise<void> {
    await runKeyedScript(this.redis, DROP, keysOf(sale), [sale.authorizationId]);
  }

  #run(
    which: typeof BEGIN,
    sale: Sale,
    ends: readonly number[],
  ): ReturnType<typeof runKeyedScript> {
    const args = [JSON.stringify(sale), sale.authorizationId, ...ends, saleKey('')];
    return runKeyedScript(this.redis, which, keysOf(sale), args);
  }
}

function keysOf({ authorizationId, payer, object }: Sale): string[] {
  return [saleKey(authorizationId), currentSaleKey(payer, fileTagOf(object))];
}

/** Only this file writes them. */
function saleIn(text: unknown): Sale {
  return JSON.parse(String(text)) as Sale;
}
