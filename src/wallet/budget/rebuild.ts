import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { ledgerCall, runScript, type ScriptArgument } from '../../redis/redis-scripts.js';
import type { Journal } from '../audit/journal.js';
import type { JournalEvent } from '../audit/journal-record.js';
import { readPolicy, policyText } from '../rules/policy.js';
import type { Policy } from '../rules/policy.js';
import type { Spending } from '../rules/spending.js';
import { generationKey, intentKey, revokedTokenKey } from '../wallet-keys.js';
import { RESTORE, UNLOCK } from './budget-scripts.js';
import { StoredSpending, writeDue } from './due.js';
import { entryOf } from './spending-store.js';

const ATTEMPTS = 5;
/** Entries restored in one step; Redis answers others between the steps. */
const CHUNK = 200;
/** The longest window rules may have: 720 hours. */
const LONGEST_WINDOW_SECONDS = 2_592_000;

interface Remembered {
  readonly spending: Spending;
  readonly intent: { readonly id: string; readonly record: string } | undefined;
  readonly at: number;
  isSigned: boolean;
  isSpent: boolean;
}

/** What the journal says of one wallet. */
interface WalletMemory {
  policy: Policy | undefined;
  notBefore: number;
  readonly spendings: Map<string, Remembered>;
}

export interface JournalMemory {
  readonly wallets: ReadonlyMap<Address, WalletMemory>;
  /** Owners for whom a wallet was ever asked for, and the one they got. */
  readonly owners: ReadonlyMap<string, string | undefined>;
  /** Revoked tokens and when they end, unix seconds. */
  readonly revoked: ReadonlyMap<string, number>;
}

/** Adds up the journal. The order of events does not matter but for those of one policy. */
export async function remember(events: AsyncIterable<JournalEvent>): Promise<JournalMemory> {
  const wallets = new Map<Address, WalletMemory>();
  const owners = new Map<string, string | undefined>();
  const revoked = new Map<string, number>();
  const later: [Address, string, 'signed' | 'spent' | 'released'][] = [];
  for await (const event of events) {
    const { owner } = event;
    if (event.event === 'wallet_wanted' && owner !== undefined && !owners.has(owner)) {
      owners.set(owner, undefined);
    }
    if (event.event === 'wallet_created' && owner !== undefined) {
      // The first one is the owner's; another never takes its place.
      owners.set(owner, owners.get(owner) ?? event.wallet);
    }
    if (event.event === 'token_revoked') revoked.set(event.token, event.until);
    if (event.wallet === undefined) continue;
    const wallet = event.wallet as Address;
    let memory = wallets.get(wallet);
    if (memory === undefined) {
      memory = { policy: undefined, notBefore: 0, spendings: new Map() };
      wallets.set(wallet, memory);
    }
    if (event.event === 'policy_set') {
      const read = readPolicy(event.policy, event.revision);
      if (read.ok && event.revision >= (memory.policy?.revision ?? 0)) memory.policy = read.policy;
    } else if (event.event === 'tokens_revoked') {
      memory.notBefore = Math.max(memory.notBefore, event.notBefore);
    } else if (event.event === 'reserved') {
      const spending = StoredSpending.parse(event.spending);
      const { intent, at } = event;
      memory.spendings.set(spending.id, {
        ...{ spending, intent, at, isSigned: false, isSpent: false },
      });
    } else if (event.event === 'signed' || event.event === 'spent' || event.event === 'released') {
      later.push([wallet, event.spending, event.event]);
    }
  }
  for (const [wallet, id, how] of later) {
    const spendings = wallets.get(wallet)?.spendings;
    const one = spendings?.get(id);
    if (one !== undefined && how === 'spent') one.isSpent = true;
    if (one !== undefined && how === 'signed') one.isSigned = true;
    if (how === 'released') spendings?.delete(id);
  }
  return { wallets, owners, revoked };
}

/**
 * Keeps Redis and journal together. A wallet that Redis does not know under its present generation is
 * locked; restoring adds what the journal has and unlocks it.
 */
export class WalletRestorer {
  #running: Promise<JournalMemory> | undefined;

  /** @param retentionSeconds - how long finished intents are kept. */
  constructor(
    private readonly redis: Redis,
    private readonly journal: Journal,
    private readonly retentionSeconds: number,
    private readonly now: () => number,
  ) {}

  /**
   * Restores every wallet of the journal. Calls that come while it runs share it.
   *
   * @throws WalletStorageError, LedgerUnavailableError; then the wallets stay locked.
   */
  restoreAll(): Promise<JournalMemory> {
    this.#running ??= this.#restoreAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Unlocks a wallet that has never signed anything, with its first rules. */
  async unlockNew(wallet: Address, policy: Policy): Promise<void> {
    const generation = await this.#generation();
    await this.#unlock(generation, wallet, policy, 0);
  }

  async #restoreAll(): Promise<JournalMemory> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // Named before the journal is read: a loss while reading is seen by every step after it.
      const generation = await this.#generation();
      const memory = await remember(this.journal.events());
      if (await this.#restore(generation, memory)) return memory;
    }
    throw new Error('Redis lost its content again and again while wallets were restored');
  }

  async #generation(): Promise<string> {
    const fresh = randomBytes(12).toString('base64url');
    await ledgerCall('wallet_generation', this.redis.set(generationKey(), fresh, 'NX'));
    return (await ledgerCall('wallet_generation', this.redis.get(generationKey()))) ?? fresh;
  }

  async #restore(generation: string, { wallets, revoked }: JournalMemory): Promise<boolean> {
    const now = this.now();
    for (const [token, until] of revoked) {
      if (until <= now) continue;
      const key = revokedTokenKey(token);
      await ledgerCall('wallet_revoke', this.redis.set(key, '1', 'EX', until - now));
    }
    for (const [wallet, memory] of wallets) {
      if (memory.policy === undefined) continue;
      const isRestored = await this.#restoreSpendings(generation, wallet, memory);
      if (!isRestored) return false;
      if (!(await this.#unlock(generation, wallet, memory.policy, memory.notBefore))) return false;
    }
    return true;
  }

  async #restoreSpendings(
    generation: string,
    wallet: Address,
    { spendings }: WalletMemory,
  ): Promise<boolean> {
    const now = this.now();
    const windowStart = now - LONGEST_WINDOW_SECONDS;
    const all = [...spendings.values()];
    const counting = all.filter(({ spending }) => spending.deadline >= windowStart);
    // The first of an intent stays: of several the one that was signed, else the newest.
    const intended = all
      .filter(({ at, intent }) => intent !== undefined && at >= now - this.retentionSeconds)
      .sort((a, b) => Number(b.isSigned) - Number(a.isSigned) || b.at - a.at);
    for (let from = 0; from < Math.max(counting.length, intended.length); from += CHUNK) {
      const entries = counting.slice(from, from + CHUNK);
      const args: ScriptArgument[] = [generation, wallet, entries.length];
      for (const { spending, isSpent } of entries) {
        const isDue = !isSpent && spending.method !== 'transaction';
        const due = isDue ? writeDue({ wallet, spending }) : '';
        args.push(spending.id, entryOf(spending), spending.deadline, due);
      }
      for (const { intent, at } of intended.slice(from, from + CHUNK)) {
        if (intent === undefined) continue;
        const life = at + this.retentionSeconds - now + 1;
        args.push(intentKey(wallet, intent.id), intent.record, life, intent.id, at);
      }
      if ((await runScript(this.redis, RESTORE, args)) !== 1) return false;
    }
    return true;
  }

  async #unlock(
    generation: string,
    wallet: Address,
    policy: Policy,
    notBefore: number,
  ): Promise<boolean> {
    const text = JSON.stringify(policyText(policy));
    const args = [generation, wallet, policy.revision, text, notBefore];
    return (await runScript(this.redis, UNLOCK, args)) === 1;
  }
}
