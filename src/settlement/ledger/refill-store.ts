import type { Attempt } from '../model/attempt.js';
import type { LastRefill } from '../model/refill.js';
import type { GasBudget, HeldLane, OverBudget } from './lane-store.js';

export type RefillResult =
  | { readonly kind: 'ok' }
  /** An operator has paused the treasury; nothing was allocated. */
  | { readonly kind: 'paused' }
  /** The record of the treasury has another next nonce than the signed bytes. */
  | { readonly kind: 'nonce' }
  /** An earlier transaction of the treasury is not final yet. */
  | { readonly kind: 'in_flight' }
  /** The refill would exceed the daily cap of the treasury. */
  | OverBudget;

/** A refill always has a cap. */
export type RefillBudget = Pick<GasBudget, 'costGwei' | 'day'> & { readonly laneGwei: bigint };

/** The refills of a treasury, by the counts of the ledger. */
export interface RefillRecord {
  /** Gwei reserved or spent on the day. */
  readonly spentGwei: bigint;
  readonly last: LastRefill | undefined;
}

/**
 * The steps that only a treasury has. Its transactions are followed, replaced and closed like those of every lane;
 * `LaneLedger` explains them and the errors.
 *
 * @throws LeaseLostError, LedgerEpochChangedError, RedisUnavailableError.
 */
export interface RefillStore {
  /**
   * Stores account nonce, signed bytes and the charge of the day in one step. Idempotent.
   *
   * @param attempt - a `refill`.
   */
  refill(held: HeldLane, attempt: Attempt, budget: RefillBudget): Promise<RefillResult>;

  /** @param day - `2026-11-21`, UTC. */
  refillRecord(held: Pick<HeldLane, 'chainId' | 'lane'>, day: string): Promise<RefillRecord>;
}

/** Reads a text of {@link lastRefillOf}. Any other text is `undefined`, because it must not be shown. */
export function readLastRefill(text: string): LastRefill | undefined {
  try {
    const { to, valueWei, accountNonce, at } = JSON.parse(text) as LastRefill;
    const isWhole =
      /^0x[0-9a-f]{40}$/.test(to) &&
      /^\d{1,78}$/.test(valueWei) &&
      Number.isSafeInteger(accountNonce) &&
      Number.isSafeInteger(at);
    return isWhole ? { to, valueWei, accountNonce, at } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The public facts of a refill.
 *
 * @throws TypeError for another attempt.
 */
export function lastRefillOf({ refill, accountNonce, transactions }: Attempt): LastRefill {
  if (refill === undefined) throw new TypeError('a refill attempt has no lane');
  const at = transactions[0]?.signedAt ?? 0;
  return { to: refill.to, valueWei: refill.valueWei.toString(), accountNonce, at };
}
