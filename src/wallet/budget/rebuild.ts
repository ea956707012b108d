import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { AppConfig } from '../../platform/config/app-config.js';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import { redisCall, runScript, type ScriptArgument } from '../../platform/redis/redis-scripts.js';
import { RulesSeal } from '../accounts/rules-seal.js';
import { usedText } from '../asks/ask.js';
import { RESTORE_ANSWERS } from '../asks/ask-scripts.js';
import { lifeOf } from '../asks/ask-store.js';
import { Journal } from '../audit/journal.js';
import { HORIZON_SECONDS, type JournalState, type WalletRecord } from '../audit/journal-state.js';
import { IssuedTokens } from '../auth/issued-tokens.js';
import { PasskeyStore } from '../passkeys/passkey-store.js';
import { chargeCountOf } from '../pay/intent.js';
import { type Policy, readPolicy } from '../rules/policy.js';
import type { Spending } from '../rules/spending.js';
import { askOfIntentKey, intentKey, revokedTokenKey } from '../wallet-keys.js';
import { WALLET_CLOCK, type WalletClock } from '../wallet-tokens.js';
import { NAME_GENERATION, RESTORE, UNLOCK } from './budget-scripts.js';
import { StoredSpending, writeDue } from './due.js';
import { termsOf } from './spending-store.js';

const ATTEMPTS = 5;
/** Entries restored in one step; Redis serves other clients between the steps. */
const CHUNK = 200;

interface RestoredCharge {
  readonly spending: Spending;
  readonly flag: 'r' | 's' | 'x';
  readonly isSpent: boolean;
}

interface RestoredIntent {
  readonly id: string;
  readonly record: string;
  /** The number of payments of the intent, including this one. */
  readonly charged: number;
  readonly at: number;
}

/**
 * Keeps Redis and journal together. A wallet that Redis does not have under its present generation is locked; a restore
 * adds what the journal has and unlocks it.
 */
@Injectable()
export class WalletRestorer {
  #running: Promise<JournalState> | undefined;

  constructor(
    @Inject(WALLET_REDIS) private readonly redis: Redis,
    private readonly journal: Journal,
    private readonly rules: RulesSeal,
    private readonly tokens: IssuedTokens,
    private readonly passkeys: PasskeyStore,
    private readonly config: AppConfig,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
  ) {}

  /**
   * Restores every wallet of the journal. Concurrent calls share one run.
   *
   * @throws WalletStorageError, RedisUnavailableError; the wallets then stay locked.
   */
  restoreAll(): Promise<JournalState> {
    this.#running ??= this.#restoreAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Unlocks a wallet that never signed anything, with its first rules. */
  async unlockNew(wallet: Address, policy: Policy): Promise<void> {
    await this.#unlock(await this.#generation(), wallet, policy, 0);
  }

  async #restoreAll(): Promise<JournalState> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // Named before the journal is read, so that every later step notices a loss.
      const generation = await this.#generation();
      const state = await this.journal.state();
      if (await this.#restore(generation, state)) return state;
    }
    throw new Error('Redis lost its content repeatedly while wallets were restored');
  }

  async #generation(): Promise<string> {
    const fresh = randomBytes(12).toString('base64url');
    return String(await runScript(this.redis, NAME_GENERATION, [fresh]));
  }

  async #restore(generation: string, state: JournalState): Promise<boolean> {
    const { wallets, revoked } = state;
    const { redis, tokens, passkeys } = this;
    const now = this.now();
    await passkeys.restore(state.passkeys, generation);
    for (const [token, until] of revoked) {
      if (until <= now) continue;
      const key = revokedTokenKey(token);
      await redisCall('wallet_revoke', redis.set(key, '1', 'EX', until - now));
    }
    for (const [address, record] of wallets) {
      const { rules, notBefore } = record;
      const read = rules && readPolicy(rules.policy, rules.revision);
      if (read?.ok !== true) continue;
      const wallet = address as Address;
      if (!(await this.#restoreCharges(generation, wallet, record))) return false;
      if (!(await this.#restoreAnswers(generation, wallet, record))) return false;
      if (!(await this.#unlock(generation, wallet, read.policy, notBefore))) return false;
      await tokens.note(wallet, state.goodTokens(wallet, now));
    }
    return true;
  }

  async #restoreCharges(
    generation: string,
    wallet: Address,
    record: WalletRecord,
  ): Promise<boolean> {
    const now = this.now();
    const charges = chargesOf(record, now - HORIZON_SECONDS);
    const intents = intentsOf(record, now - this.config.retentionSeconds);
    for (let from = 0; from < Math.max(charges.length, intents.length); from += CHUNK) {
      const some = charges.slice(from, from + CHUNK);
      const args: ScriptArgument[] = [generation, wallet, some.length];
      for (const { spending, flag, isSpent } of some) {
        const isDue = flag !== 'x' && !isSpent && spending.method !== 'transaction';
        const due = isDue ? writeDue({ wallet, spending }) : '';
        args.push(spending.id, termsOf(spending), spending.deadline, flag, due);
      }
      for (const { id, record: text, charged, at } of intents.slice(from, from + CHUNK)) {
        const life = at + this.config.retentionSeconds - now + 1;
        args.push(intentKey(wallet, id), text, charged, life, id, at);
      }
      if ((await runScript(this.redis, RESTORE, args)) !== 1) return false;
    }
    return true;
  }

  /** Restores the owners' answers before anything can be charged for them; used answers stay used. */
  async #restoreAnswers(
    generation: string,
    wallet: Address,
    { answers, charges }: WalletRecord,
  ): Promise<boolean> {
    const now = this.now();
    const usedBy = new Map([...charges.values()].map(({ ask, id }) => [ask, id] as const));
    const all = [...answers.values()].filter(({ until }) => until > now);
    // The newest answer of an intent first; older ones are not restored beside it.
    all.sort((a, b) => b.order - a.order);
    for (let from = 0; from < all.length; from += CHUNK) {
      const args: ScriptArgument[] = [generation, wallet];
      for (const { id, intent, until } of all.slice(from, from + CHUNK)) {
        const spending = usedBy.get(id);
        const text = spending === undefined ? intent.record : usedText(intent.record, spending);
        args.push(id, askOfIntentKey(wallet, intent.id), text, until, lifeOf(until, now));
      }
      if ((await runScript(this.redis, RESTORE_ANSWERS, args)) !== 1) return false;
    }
    return true;
  }

  async #unlock(
    generation: string,
    wallet: Address,
    policy: Policy,
    notBefore: number,
  ): Promise<boolean> {
    const rules = this.rules.seal(wallet, policy);
    const args = [generation, wallet, policy.revision, rules, notBefore];
    return (await runScript(this.redis, UNLOCK, args)) === 1;
  }
}

/** One charge of each authorization, because Redis stores one and the chain executes one. */
function chargesOf({ charges }: WalletRecord, since: number): RestoredCharge[] {
  const chosen = new Map<string, RestoredCharge>();
  for (const {
    id,
    spending: stored,
    deadline,
    isSigned,
    isSpent,
    isReleased,
  } of charges.values()) {
    if (stored === undefined || deadline < since) continue;
    const spending = StoredSpending.parse(stored);
    const flag = isReleased ? 'x' : isSigned || isSpent ? 's' : 'r';
    const one: RestoredCharge = { spending, flag, isSpent };
    const other = chosen.get(id);
    if (other === undefined || weightOf(one) > weightOf(other)) chosen.set(id, one);
  }
  return [...chosen.values()];
}

/** The weight of a restored charge: a signed one outweighs an unsigned one, a larger one a smaller one. */
function weightOf({ spending, flag }: RestoredCharge): bigint {
  const certainty = { x: 0n, r: 1n, s: 2n }[flag];
  return (certainty << 256n) + spending.amount;
}

/** The newest payment of each intent that may have been signed. */
function intentsOf({ charges }: WalletRecord, since: number): RestoredIntent[] {
  const all = [...charges.values()]
    .filter(({ intent, at }) => intent !== undefined && at >= since)
    .sort((a, b) => Number(b.isReleased) - Number(a.isReleased) || a.order - b.order);
  const chosen = new Map<string, RestoredIntent>();
  for (const { intent, at } of all) {
    if (intent === undefined) continue;
    const { id, record } = intent;
    chosen.set(id, { id, record, at, charged: chargeCountOf(record) });
  }
  return [...chosen.values()];
}
