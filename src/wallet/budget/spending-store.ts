import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { ledgerCall, runScript, type ScriptReply } from '../../redis/redis-scripts.js';
import type { Charge } from '../rules/judge.js';
import { assetName } from '../rules/policy.js';
import type { Spending } from '../rules/spending.js';
import { historyKey, intentKey } from '../wallet-keys.js';
import { CONFIRM, RELEASE, RESERVE, SPENT } from './budget-scripts.js';
import { type Due, writeDue } from './due.js';

/** More payments in one window than this are refused: every one is added up at each charge. */
const ENTRIES_MAX = 5000;
const DIGITS = 78;

export interface Reservation {
  readonly wallet: Address;
  readonly revision: number;
  readonly spending: Spending;
  readonly charges: readonly Charge[];
  readonly windowSeconds: number;
  /** Unix seconds. */
  readonly now: number;
  readonly intent?: {
    readonly id: string;
    readonly record: string;
    /** The stored record it takes the place of; empty for none. */
    readonly replaces: string;
    readonly lifeSeconds: number;
  };
}

export type ReserveResult =
  | { readonly kind: 'reserved' | 'known' | 'locked' | 'policy_changed' }
  | { readonly kind: 'reused' }
  | { readonly kind: 'too_many' }
  | { readonly kind: 'over_budget'; readonly charge: Charge; readonly spent: bigint }
  | { readonly kind: 'intent_exists'; readonly record: string };

export interface SpentQuestion {
  readonly asset: string;
  /** Everybody when absent. */
  readonly payees?: readonly Address[];
}

/**
 * What a wallet has spent or may yet spend, in Redis.
 *
 * @throws LedgerUnavailableError from every method when Redis does not answer.
 */
export class SpendingStore {
  constructor(private readonly redis: Redis) {}

  /** Charges every budget at once, or none. */
  async reserve(one: Reservation): Promise<ReserveResult> {
    const { wallet, spending, charges, intent } = one;
    const reply = await runScript(this.redis, RESERVE, [
      wallet,
      one.revision,
      ...[spending.id, assetName(spending.chainId, spending.asset), padded(spending.amount)],
      ...[spending.payTo, spending.deadline],
      ...[one.now - one.windowSeconds, ENTRIES_MAX],
      spending.method === 'transaction' ? '' : writeDue({ wallet, spending }),
      ...(intent === undefined
        ? ['', '', '', '', '', '']
        : [
            ...[intentKey(wallet, intent.id), intent.record, intent.replaces, intent.lifeSeconds],
            ...[intent.id, one.now],
          ]),
      ...charges.flatMap(({ budget, payees }) => [padded(budget), payees?.join(',') ?? '*']),
    ]);
    return readReserveReply(reply, charges);
  }

  /** Whether the charge still stands. */
  async confirm(wallet: Address, id: string): Promise<boolean> {
    return (await runScript(this.redis, CONFIRM, [wallet, id])) === 1;
  }

  /** @returns whether it was still to be looked up. */
  async release(due: Due): Promise<boolean> {
    const args = [due.wallet, due.spending.id, writeDue(due)];
    return (await runScript(this.redis, RELEASE, args)) === 1;
  }

  /** @returns sums in the order of the questions; `undefined` while the wallet is locked. */
  async spent(
    wallet: Address,
    since: number,
    questions: readonly SpentQuestion[],
  ): Promise<readonly bigint[] | undefined> {
    const asked = questions.flatMap(({ asset, payees }) => [asset, payees?.join(',') ?? '*']);
    const [kind, ...sums] = texts(await runScript(this.redis, SPENT, [wallet, since, ...asked]));
    return kind === 'ok' ? sums.map(BigInt) : undefined;
  }

  /** Ids of the newest intents, newest first. */
  history(wallet: Address, count: number): Promise<string[]> {
    return ledgerCall('wallet_history', this.redis.zrevrange(historyKey(wallet), 0, count - 1));
  }
}

/** An entry as the scripts read it. */
export function entryOf({ chainId, asset, amount, payTo }: Spending): string {
  return `1|${assetName(chainId, asset)}|${padded(amount)}|${payTo}`;
}

function padded(amount: bigint): string {
  return amount.toString().padStart(DIGITS, '0');
}

function readReserveReply(reply: ScriptReply, charges: readonly Charge[]): ReserveResult {
  const [kind = '', first = '', second = '0'] = texts(reply);
  const plain = PLAIN_REPLIES[kind];
  if (plain !== undefined) return plain;
  if (kind === 'intent') return { kind: 'intent_exists', record: first };
  const charge = kind === 'over' ? charges[Number(first)] : undefined;
  if (charge !== undefined) return { kind: 'over_budget', charge, spent: BigInt(second) };
  throw new TypeError(`reserve answered ${kind}`);
}

const PLAIN_REPLIES: Readonly<Record<string, ReserveResult>> = {
  ok: { kind: 'reserved' },
  known: { kind: 'known' },
  reused: { kind: 'reused' },
  locked: { kind: 'locked' },
  changed: { kind: 'policy_changed' },
  many: { kind: 'too_many' },
};

function texts(reply: ScriptReply): string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}
