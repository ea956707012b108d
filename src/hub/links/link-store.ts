import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { HUB_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runKeyedScript, script } from '../../platform/redis/redis-scripts.js';
import { metaKey, spentLinksKey, voidedLinksKey } from '../index/keys.js';
import { LINK_LIFETIME_MAX_SECONDS, type ShareLink } from './share-link.js';
import { CLOCK_SKEW_SECONDS, familiesOf, type NotedLink, SLACK_SECONDS } from './signed-link.js';

/** Limit of used and revoked links of one owner that have not expired. */
const SPENT_MAX = 1000;

/**
 * - `open`: it may be used, or this call has just used it up.
 * - `spent`: it was used up or revoked before.
 * - `void`: its owner revoked all links of its time or of its family, or the record of used links from before its issue
 *   was lost.
 * - `full`: it is open, but cannot be used up, because {@link SPENT_MAX} others of its owner are.
 */
export type LinkState = 'open' | 'spent' | 'void' | 'full';

const LINK_STATES: ReadonlySet<unknown> = new Set<LinkState>(['open', 'spent', 'void', 'full']);

/**
 * Checks whether a link may be used, and records the use.
 *
 * | KEYS | |
 * |---|---|
 * | 1 | of the index: `since` is when it was rebuilt |
 * | 2 | issued until this time, all links of its owner are revoked |
 * | 3 | links of its owner that were spent, by when they are over |
 *
 * | ARGV | |
 * |---|---|
 * | 1 | nonce |
 * | 2 | issued at, Unix seconds |
 * | 3 | over at, Unix seconds |
 * | 4 | now, Unix seconds |
 * | 5 | 1 to spend it |
 * | 6 | how many may be spent at a time |
 * | 7 | seconds to remember it beyond its end |
 * | 8, 9 | families of the nonce |
 *
 * Returns a {@link LinkState}.
 */
const USE_LINK = script(
  'hub link',
  String.raw`
local nonce, issued, over, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local since = tonumber(redis.call('HGET', KEYS[1], 'since') or '0')
local voided = tonumber(redis.call('GET', KEYS[2]) or '-1')
if issued < since or issued <= voided then return 'void' end
if redis.call('ZSCORE', KEYS[3], nonce) then return 'spent' end
for family = 8, 9 do
  if redis.call('ZSCORE', KEYS[3], ARGV[family]) then return 'void' end
end
if ARGV[5] ~= '1' then return 'open' end
local slack = tonumber(ARGV[7])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - slack)
if redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[6]) then return 'full' end
redis.call('ZADD', KEYS[3], over, nonce)
local last = tonumber(redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2])
redis.call('EXPIREAT', KEYS[3], last + slack)
return 'open'
`,
);

/** Remembers used and revoked share links until they expire. */
@Injectable()
export class LinkStore {
  constructor(@Inject(HUB_REDIS) private readonly redis: Redis) {}

  /** @throws RedisUnavailableError */
  state(link: ShareLink, now: number): Promise<LinkState> {
    return this.#run(link, now, false);
  }

  /**
   * Uses a link up; of concurrent callers one gets `open`.
   *
   * @throws RedisUnavailableError: it may be used up.
   */
  spend(link: ShareLink, now: number): Promise<LinkState> {
    return this.#run(link, now, true);
  }

  /**
   * Revokes every present link of an owner, up to the latest possible time of issue, because the signer's clock may be
   * ahead.
   *
   * @returns that time, Unix seconds.
   * @throws RedisUnavailableError
   */
  async voidAll(owner: string, now: number): Promise<number> {
    const seconds = CLOCK_SKEW_SECONDS + LINK_LIFETIME_MAX_SECONDS + SLACK_SECONDS;
    const until = now + CLOCK_SKEW_SECONDS;
    await redisCall('hub links', this.redis.set(voidedLinksKey(owner), until, 'EX', seconds));
    return until;
  }

  /**
   * Revokes every link of a family, also later ones. It counts among the used links.
   *
   * @throws RedisUnavailableError
   */
  voidFamily(owner: string, family: string, now: number): Promise<LinkState> {
    // Later than any time until which all links were revoked.
    const issuedAt = now + CLOCK_SKEW_SECONDS + 1;
    const until = issuedAt + LINK_LIFETIME_MAX_SECONDS;
    return this.#run({ owner, nonce: family, issuedAt, until }, now, true);
  }

  async #run(link: NotedLink, now: number, isSpent: boolean): Promise<LinkState> {
    const { owner, nonce, issuedAt, until } = link;
    const state = await runKeyedScript(
      this.redis,
      USE_LINK,
      [metaKey(), voidedLinksKey(owner), spentLinksKey(owner)],
      [
        nonce,
        issuedAt,
        until,
        now,
        isSpent ? 1 : 0,
        SPENT_MAX,
        SLACK_SECONDS,
        ...familiesOf({ nonce }),
      ],
    );
    if (!LINK_STATES.has(state))
      throw new Error('the script of links returned an unexpected value');
    return state as LinkState;
  }
}
