import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { HUB_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runKeyedScript, script } from '../../platform/redis/redis-scripts.js';
import { metaKey, uploadKey, uploadsKey, voidedUploadsKey } from '../index/keys.js';
import { CLOCK_SKEW_SECONDS, familiesOf, type NotedLink, SLACK_SECONDS } from './signed-link.js';
import { UPLOAD_LIFETIME_MAX_SECONDS, type UploadLink } from './upload-link.js';

/** Limit of used and revoked upload links of one owner that have not expired. */
const USED_MAX = 1000;

/** How long storing a complete upload may take; after that its process counts as dead. */
const STORING_SECONDS = 30;

/**
 * - `open`: it may be used; for `begin`, this call uses it now.
 * - `again`: the same, but an earlier unfinished call may have stored these bytes.
 * - `busy`: another upload by it is being stored.
 * - `used`: it was used up, is in use for other bytes, or was revoked.
 * - `void`: its owner revoked all links of its time or of its family, or the record of used links from before its issue
 *   was lost.
 * - `full`: it is open, but cannot be used, because {@link USED_MAX} others of its owner are.
 */
export type UploadState = 'open' | 'again' | 'busy' | 'used' | 'void' | 'full';

const UPLOAD_STATES: ReadonlySet<unknown> = new Set<UploadState>([
  'open',
  'again',
  'busy',
  'used',
  'void',
  'full',
]);

/**
 * Checks whether a link may be used, and records its bytes or its revocation.
 *
 * | KEYS | |
 * |---|---|
 * | 1 | of the index: `since` is when it was rebuilt |
 * | 2 | issued until this time, all upload links of its owner are revoked |
 * | 3 | upload links of its owner that were used, by when they are over |
 * | 4 | this link: `sha256` of what it is used for, `by` whom, `lease` until when (Unix seconds), `done` |
 * | 5, 6 | the families of the link, in the same form |
 *
 * | ARGV | |
 * |---|---|
 * | 1 | `look`, `begin` or `end` |
 * | 2 | nonce |
 * | 3 | issued at, Unix seconds |
 * | 4 | over at, Unix seconds |
 * | 5 | now, Unix seconds |
 * | 6 | how many may be used at a time |
 * | 7 | seconds to remember it beyond its end |
 * | 8 | who begins |
 * | 9 | SHA-256 of what it begins with |
 * | 10 | seconds it may take |
 *
 * Returns an {@link UploadState}.
 */
const USE_UPLOAD = script(
  'hub upload link',
  String.raw`
local step, nonce = ARGV[1], ARGV[2]
local issued, over, now = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local since = tonumber(redis.call('HGET', KEYS[1], 'since') or '0')
local voided = tonumber(redis.call('GET', KEYS[2]) or '-1')
if issued < since or issued <= voided then return 'void' end
local known = redis.call('HMGET', KEYS[4], 'done', 'sha256', 'lease')
if known[1] then return 'used' end
for family = 5, 6 do
  if redis.call('HGET', KEYS[family], 'done') then return 'void' end
end
if step == 'look' then return 'open' end
if step == 'begin' and known[2] then
  if known[2] ~= ARGV[9] then return 'used' end
  if tonumber(known[3]) > now then return 'busy' end
end
local slack = tonumber(ARGV[7])
if not known[2] then
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - slack)
  if redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[6]) then return 'full' end
  redis.call('ZADD', KEYS[3], over, nonce)
  local last = tonumber(redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2])
  redis.call('EXPIREAT', KEYS[3], last + slack)
end
if step == 'end' then
  redis.call('HSET', KEYS[4], 'done', 1)
else
  redis.call('HSET', KEYS[4], 'by', ARGV[8], 'sha256', ARGV[9], 'lease', now + tonumber(ARGV[10]))
end
redis.call('EXPIREAT', KEYS[4], over + slack)
return known[2] and 'again' or 'open'
`,
);

/**
 * Ends the upload of this caller.
 *
 * | KEYS | |
 * |---|---|
 * | 1 | upload links of its owner that were used |
 * | 2 | this link |
 *
 * | ARGV | |
 * |---|---|
 * | 1 | nonce |
 * | 2 | who began |
 * | 3 | `stored`, `unknown` whether, or `nothing` was stored |
 *
 * Returns 1, or 0 when another one began since.
 */
const LEAVE_UPLOAD = script(
  'hub upload link left',
  String.raw`
if redis.call('HGET', KEYS[2], 'by') ~= ARGV[2] then return 0 end
if ARGV[3] == 'stored' then
  redis.call('HSET', KEYS[2], 'done', 1)
elseif ARGV[3] == 'unknown' then
  redis.call('HSET', KEYS[2], 'lease', 0)
elseif not redis.call('HGET', KEYS[2], 'done') then
  redis.call('DEL', KEYS[2])
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return 1
`,
);

/** Remembers used and revoked upload links until they expire. */
@Injectable()
export class UploadStore {
  constructor(@Inject(HUB_REDIS) private readonly redis: Redis) {}

  /** @throws RedisUnavailableError */
  state(link: UploadLink, now: number): Promise<UploadState> {
    return this.#use('look', link, now);
  }

  /**
   * From now on the link is only for these bytes. Of concurrent callers one gets `open` or `again`, until it leaves or
   * its lease of half a minute ends.
   *
   * @param by - names the call.
   * @throws RedisUnavailableError: it may have begun.
   */
  begin(link: UploadLink, by: string, sha256: string, now: number): Promise<UploadState> {
    return this.#use('begin', link, now, [by, sha256, STORING_SECONDS]);
  }

  /** @throws RedisUnavailableError */
  async leave(
    { owner, nonce }: UploadLink,
    by: string,
    what: 'stored' | 'unknown' | 'nothing',
  ): Promise<void> {
    const keys = [uploadsKey(owner), uploadKey(owner, nonce)];
    await runKeyedScript(this.redis, LEAVE_UPLOAD, keys, [nonce, by, what]);
  }

  /**
   * Revokes it. An upload in progress is still stored.
   *
   * @throws RedisUnavailableError
   */
  revoke(link: UploadLink, now: number): Promise<UploadState> {
    return this.#use('end', link, now);
  }

  /**
   * Revokes every present link of an owner, up to the latest possible time of issue, because the signer's clock may be
   * ahead.
   *
   * @returns that time, Unix seconds.
   * @throws RedisUnavailableError
   */
  async takeAllBack(owner: string, now: number): Promise<number> {
    const seconds = CLOCK_SKEW_SECONDS + UPLOAD_LIFETIME_MAX_SECONDS + SLACK_SECONDS;
    const until = now + CLOCK_SKEW_SECONDS;
    const kept = this.redis.set(voidedUploadsKey(owner), until, 'EX', seconds);
    await redisCall('hub upload links', kept);
    return until;
  }

  /**
   * Revokes every link of a family, also later ones. It counts among the used links.
   *
   * @throws RedisUnavailableError
   */
  voidFamily(owner: string, family: string, now: number): Promise<UploadState> {
    // Later than any time until which all links were revoked.
    const issuedAt = now + CLOCK_SKEW_SECONDS + 1;
    const until = issuedAt + UPLOAD_LIFETIME_MAX_SECONDS;
    return this.#use('end', { owner, nonce: family, issuedAt, until }, now);
  }

  async #use(
    step: 'look' | 'begin' | 'end',
    { owner, nonce, issuedAt, until }: NotedLink,
    now: number,
    more: readonly (string | number)[] = [],
  ): Promise<UploadState> {
    const state = await runKeyedScript(
      this.redis,
      USE_UPLOAD,
      [
        metaKey(),
        voidedUploadsKey(owner),
        uploadsKey(owner),
        ...[nonce, ...familiesOf({ nonce })].map((name) => uploadKey(owner, name)),
      ],
      [step, nonce, issuedAt, until, now, USED_MAX, SLACK_SECONDS, ...more],
    );
    if (!UPLOAD_STATES.has(state))
      throw new Error('the script of uploads returned an unexpected value');
    return state as UploadState;
  }
}
