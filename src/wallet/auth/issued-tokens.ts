import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import {
  redisCall,
  runKeyedScript,
  script,
  type ScriptArgument,
} from '../../platform/redis/redis-scripts.js';
import { IssuedToken } from '../audit/journal-state.js';
import { RecordSeal } from '../seal/record-seal.js';
import { tokensKey, tokenUseKey } from '../wallet-keys.js';
import { WALLET_CLOCK, type WalletClock } from '../wallet-tokens.js';

/**
 * Limit for one wallet. Each token takes a signature of its owner. Above the limit, the tokens that expire first are
 * not listed.
 */
const LISTED_MAX = 500;
/** Uses of one token within this time count as one. */
const USE_SECONDS = 60;
const REMEMBERED_MAX = 10_000;

/**
 * KEYS: the list. ARGV: now, most that are listed, then id, end and record of each. Seconds.
 * Expired entries are removed, and those that end first where there are too many. The list expires
 * with its last entry.
 */
const NOTE = script(
  'wallet_tokens_note',
  `local now, most = tonumber(ARGV[1]), tonumber(ARGV[2])
for at = 3, #ARGV, 3 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1] .. '|' .. ARGV[at + 2]) end
local all, ends, last = redis.call('HGETALL', KEYS[1]), {}, now
for at = 1, #all, 2 do
  local stop = tonumber(string.match(all[at + 1], '^%d+')) or 0
  if stop <= now then redis.call('HDEL', KEYS[1], all[at])
  else
    ends[#ends + 1] = { all[at], stop }
    last = math.max(last, stop)
  end
end
if #ends > most then
  table.sort(ends, function(one, other) return one[2] < other[2] end)
  for at = 1, #ends - most do redis.call('HDEL', KEYS[1], ends[at][1]) end
end
redis.call('EXPIREAT', KEYS[1], last)
return 1`,
);

/**
 * Lists the valid tokens of a wallet, so that its owner can see and revoke them. The list has no authority: a token is
 * valid by its signature until it is revoked, whether or not it is listed.
 */
@Injectable()
export class IssuedTokens {
  readonly #used = new Map<string, number>();

  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly seal: RecordSeal,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  async note(wallet: string, tokens: readonly IssuedToken[]): Promise<void> {
    if (tokens.length === 0) return;
    const key = tokensKey(wallet);
    const args: ScriptArgument[] = [this.now(), LISTED_MAX];
    for (const token of tokens) {
      const record = this.seal.seal(contextOf(wallet, token.id), JSON.stringify(token));
      args.push(token.id, token.expiresAt, record);
    }
    await runKeyedScript(this.redis, NOTE, [key], args);
  }

  /** Newest first, without expired tokens. */
  async of(wallet: string): Promise<readonly IssuedToken[]> {
    const listed = await redisCall('wallet_tokens', this.redis.hgetall(tokensKey(wallet)));
    return Object.entries(listed)
      .flatMap(([id, value]) => {
        const record = value.slice(value.indexOf('|') + 1);
        const text = this.seal.open(contextOf(wallet, id), record);
        return text === undefined ? [] : [IssuedToken.parse(JSON.parse(text))];
      })
      .filter(({ expiresAt }) => expiresAt > this.now())
      .sort((one, other) => other.createdAt - one.createdAt);
  }

  async remove(wallet: string, id: string): Promise<void> {
    await redisCall('wallet_tokens', this.redis.hdel(tokensKey(wallet), id));
  }

  /** Notes the use of a token. @param id - of a token, or of a grant. */
  async noteUse(id: string, expiresAt: number): Promise<void> {
    const now = this.now();
    if (now - (this.#used.get(id) ?? 0) < USE_SECONDS) return;
    if (this.#used.size >= REMEMBERED_MAX) this.#used.clear();
    this.#used.set(id, now);
    const life = Math.max(1, expiresAt - now);
    await redisCall('wallet_token_use', this.redis.set(tokenUseKey(id), now, 'EX', life));
  }

  /** Unix seconds, to the minute, of each; `undefined` if unused since Redis was new. */
  async lastUses(ids: readonly string[]): Promise<readonly (number | undefined)[]> {
    const reads = ids.map((id) => redisCall('wallet_token_use', this.redis.get(tokenUseKey(id))));
    return (await Promise.all(reads)).map((at) => (at === null ? undefined : Number(at)));
  }
}

function contextOf(wallet: string, id: string): string {
  return `token:${wallet}:${id}`;
}
