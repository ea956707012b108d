import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import {
  redisCall,
  runScript,
  script,
  type ScriptReply,
} from '../../platform/redis/redis-scripts.js';
import { PUT_IN_FORCE, READ_RULES, SET_RULES } from '../budget/budget-scripts.js';
import type { Policy } from '../rules/policy.js';
import { endedLinksKey, walletKey } from '../wallet-keys.js';
import { RulesSeal } from './rules-seal.js';

/**
 * ARGV: wallet key, seconds, now, owner, the generation that ends, list of ended links or empty. The seconds never go
 * back. Where another process has ended tokens meanwhile, the links of two generations end.
 */
const VOID_TOKENS = script(
  'wallet_void_tokens',
  `local function note(generation)
  if ARGV[6] == '' then return end
  local family = string.format('0x%016x', generation)
  redis.call('ZADD', ARGV[6], ARGV[3], ARGV[4] .. ' ' .. family .. ' ' .. ARGV[3])
end
local before = tonumber(redis.call('HGET', ARGV[1], 'nb') or '0')
if tonumber(ARGV[2]) > before then
  redis.call('HSET', ARGV[1], 'nb', ARGV[2])
  note(before)
end
note(tonumber(ARGV[5]))
return 1`,
);

/** Tokens that end together. */
interface EndedTokens {
  readonly owner: Address;
  /** The number of revocations before they were issued: see `Session`. */
  readonly generation: number;
  /** Whether the links made with them have to end too. */
  readonly isNoted: boolean;
  /** Unix seconds. */
  readonly at: number;
}

const REMEMBERED_MAX = 10_000;

/** Rules as stored in Redis. */
export interface StoredRules {
  readonly policy: Policy;
  /** Whether the journal records them as in force: only then may anything be signed under them. */
  readonly isInForce: boolean;
  /** As stored. */
  readonly record: string;
}

/**
 * Redis records of each wallet, except its spending. A state that this process has seen is never replaced by an older
 * one from Redis.
 */
@Injectable()
export class WalletStore {
  readonly #seen = new Map<Address, { revision: number; notBefore: number }>();

  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly rules: RulesSeal,
  ) {}

  /**
   * The rules of a wallet; `undefined` while it is locked, and for rules that this service did not write or that are
   * outdated.
   */
  async storedRules(wallet: Address): Promise<StoredRules | undefined> {
    const reply = await runScript(this.redis, READ_RULES, [wallet]);
    const [revision, record, force] = fieldsOf(reply);
    if (typeof record !== 'string') return undefined;
    const policy = this.rules.open(wallet, record);
    if (policy?.revision !== Number(revision)) return undefined;
    const seen = this.#seenOf(wallet);
    if (policy.revision < seen.revision) return undefined;
    seen.revision = policy.revision;
    return { policy, record, isInForce: force === '1' };
  }

  /** @returns the stored record; `undefined` when other rules were replaced than expected. */
  async replaceRules(wallet: Address, policy: Policy): Promise<string | undefined> {
    const { revision } = policy;
    const record = this.rules.seal(wallet, policy);
    const args = [wallet, revision - 1, revision, record];
    return (await runScript(this.redis, SET_RULES, args)) === 1 ? record : undefined;
  }

  /** @returns whether they are still the rules. */
  async putInForce(wallet: Address, record: string): Promise<boolean> {
    return (await runScript(this.redis, PUT_IN_FORCE, [wallet, record])) !== 0;
  }

  /** Unix seconds; tokens issued earlier are void. */
  async tokensNotBefore(wallet: Address): Promise<number> {
    const seconds = await redisCall('wallet_tokens', this.redis.hget(walletKey(wallet), 'nb'));
    const seen = this.#seenOf(wallet);
    seen.notBefore = Math.max(seen.notBefore, Number(seconds ?? '0'));
    return seen.notBefore;
  }

  async voidTokensBefore(
    wallet: Address,
    seconds: number,
    { owner, generation, isNoted, at }: EndedTokens,
  ): Promise<void> {
    const seen = this.#seenOf(wallet);
    seen.notBefore = Math.max(seen.notBefore, seconds);
    await runScript(this.redis, VOID_TOKENS, [
      walletKey(wallet),
      seconds,
      at,
      owner,
      generation,
      isNoted ? endedLinksKey() : '',
    ]);
  }

  #seenOf(wallet: Address): { revision: number; notBefore: number } {
    const known = this.#seen.get(wallet);
    if (known !== undefined) return known;
    const [oldest] = this.#seen.keys();
    if (this.#seen.size >= REMEMBERED_MAX && oldest !== undefined) this.#seen.delete(oldest);
    const made = { revision: 0, notBefore: 0 };
    this.#seen.set(wallet, made);
    return made;
  }
}

function fieldsOf(reply: ScriptReply): readonly ScriptReply[] {
  return Array.isArray(reply) ? (reply as readonly ScriptReply[]) : [];
}
