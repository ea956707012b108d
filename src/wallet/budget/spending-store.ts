import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { Address } from 'viem';
import { WALLET_REDIS } from '../../platform/redis/redis.module.js';
import {
  redisCall,
  runScript,
  type Script,
  type ScriptArgument,
  type ScriptReply,
} from '../../platform/redis/redis-scripts.js';
import type { Charge } from '../rules/evaluate.js';
import { assetName } from '../rules/policy.js';
import type { Spending } from '../rules/spending.js';
import { WalletError } from '../wallet-error.js';
import { askKey, historyKey, intentKey } from '../wallet-keys.js';
import { CONFIRM, MARK_SIGNED, RELEASE, RESERVE, SPENT } from './budget-scripts.js';
import { type Due, writeDue } from './due.js';

/** Limit of payments of a wallet in thirty days; further ones are refused. */
const ENTRIES_MAX = 100_000;
/** Each step moves 200 entries into or out of the window. */
const SLIDES_MAX = 1000;
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
    /** The record as stored. */
    readonly record: string;
    /** The stored record it takes the place of; empty for none. */
    readonly replaces: string;
    readonly lifeSeconds: number;
  };
  /** If the owner was asked: the request whose approval this uses up. */
  readonly ask?: string;
}

/** The state of a charge. */
export interface ChargeState {
  /** The generation of Redis in which the charge was made and must be confirmed. */
  readonly generation: string;
  readonly isJournaled: boolean;
  /** Whether the journal records it as signed. */
  readonly isSigned: boolean;
}

export type ReserveResult =
  | ({ readonly kind: 'reserved' | 'known' } & ChargeState)
  | { readonly kind: 'locked' | 'policy_changed' }
  | { readonly kind: 'reused' }
  | { readonly kind: 'too_many' }
  | { readonly kind: 'unapproved' }
  | { readonly kind: 'over_budget'; readonly charge: Charge; readonly spent: bigint }
  | { readonly kind: 'intent_exists'; readonly record: string };

export interface SpentQuestion {
  readonly asset: string;
  /** All payees when absent. */
  readonly payees?: readonly Address[];
}

/**
 * The sums that a wallet has spent or may still spend, in Redis.
 *
 * @throws RedisUnavailableError from every method when Redis does not answer.
 */
@Injectable()
export class SpendingStore {
  constructor(@Inject(WALLET_REDIS) private readonly redis: Redis) {}

  /** Charges every budget, or none. */
  async reserve(one: Reservation): Promise<ReserveResult> {
    const { wallet, spending, charges, intent, ask } = one;
    const reply = await this.#slid(RESERVE, [
      wallet,
      one.revision,
      spending.id,
      assetName(spending.chainId, spending.asset),
      padded(spending.amount),
      spending.payTo,
      spending.deadline,
      one.now - one.windowSeconds,
      ENTRIES_MAX,
      spending.method === 'transaction' ? '' : writeDue({ wallet, spending }),
      ...(intent === undefined
        ? ['', '', '', '', '', '']
        : [
            intentKey(wallet, intent.id),
            intent.record,
            intent.replaces,
            intent.lifeSeconds,
            intent.id,
            one.now,
          ]),
      ...(ask === undefined ? ['', ''] : [askKey(ask), ask]),
      ...charges.flatMap(({ budget, payees }) => [padded(budget), payees?.join(',') ?? '*']),
    ]);
    return readReserveReply(reply, charges);
  }

  /** Whether the charge is still there, with nothing lost since. */
  async confirm(wallet: Address, id: string, generation: string): Promise<boolean> {
    return (await runScript(this.redis, CONFIRM, [wallet, id, generation])) === 1;
  }

  /** The journal records that it was signed, so neither step has to be repeated. */
  async markSigned(wallet: Address, { id, deadline }: Spending): Promise<void> {
    await runScript(this.redis, MARK_SIGNED, [wallet, id, deadline]);
  }

  /** @returns whether the charge was still unresolved. */
  async release(due: Due): Promise<boolean> {
    const { id, deadline } = due.spending;
    const args = [due.wallet, id, deadline, writeDue(due)];
    return (await runScript(this.redis, RELEASE, args)) === 1;
  }

  /** @returns sums in the order of the questions; `undefined` while the wallet is locked. */
  async spent(
    wallet: Address,
    since: number,
    questions: readonly SpentQuestion[],
  ): Promise<readonly bigint[] | undefined> {
    const fields = questions.map(({ asset, payees }) =>
      payees === undefined ? [asset] : payees.map((payee) => `${asset}|${payee}`),
    );
    const [kind, ...sums] = await this.#slid(SPENT, [wallet, since, ...fields.flat()]);
    if (kind !== 'ok') return undefined;
    let at = 0;
    return fields.map(({ length }) => {
      const own = sums.slice(at, at + length);
      at += length;
      return own.reduce((sum, one) => sum + BigInt(one), 0n);
    });
  }

  /** Ids of the newest intents, newest first. */
  history(wallet: Address, count: number): Promise<string[]> {
    return redisCall('wallet_history', this.redis.zrevrange(historyKey(wallet), 0, count - 1));
  }

  /** Runs a script after moving the window, in as many steps as that takes. */
  async #slid(script: Script, args: readonly ScriptArgument[]): Promise<string[]> {
    for (let count = 0; count < SLIDES_MAX; count += 1) {
      const reply = texts(await runScript(this.redis, script, args));
      if (reply[0] !== 'busy') return reply;
    }
    throw new WalletError('unavailable', 'The wallet is being restored. Try again.');
  }
}

/** The start of an entry, as the scripts read it. */
export function termsOf({ chainId, asset, amount, payTo }: Spending): string {
  return `2|${assetName(chainId, asset)}|${padded(amount)}|${payTo}|`;
}

function padded(amount: bigint): string {
  return amount.toString().padStart(DIGITS, '0');
}

function readReserveReply(
  [kind = '', first = '', second = '0']: readonly string[],
  charges: readonly Charge[],
): ReserveResult {
  const plain = PLAIN_REPLIES[kind];
  if (plain !== undefined) return plain;
  if (kind === 'ok' || kind === 'known') {
    const standing = { isJournaled: second !== 'f', isSigned: second === 's' };
    return { kind: kind === 'ok' ? 'reserved' : 'known', generation: first, ...standing };
  }
  if (kind === 'intent') return { kind: 'intent_exists', record: first };
  const charge = kind === 'over' ? charges[Number(first)] : undefined;
  if (charge !== undefined) return { kind: 'over_budget', charge, spent: BigInt(second) };
  throw new TypeError(`unexpected reply of the script reserve: ${kind}`);
}

const PLAIN_REPLIES: Readonly<Record<string, ReserveResult>> = {
  locked: { kind: 'locked' },
  changed: { kind: 'policy_changed' },
  reused: { kind: 'reused' },
  many: { kind: 'too_many' },
  unapproved: { kind: 'unapproved' },
};

function texts(reply: ScriptReply): string[] {
  return Array.isArray(reply) ? reply.map(String) : [];
}
