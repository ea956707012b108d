import type { Attempt } from '../model/attempt.js';
import type { LastRefill } from '../model/refill.js';
import type { GasBudget, HeldLane, OverBudget } from './lane-store.js';

export type RefillResult =
  | { readonly kind: 'ok' }
  /** An operator has paused the treasury; nothing was allocated. */
  | { readonly kind: 'paused' }
  /** The treasury's record names another nonce than the bytes were signed with. */
  | { readonly kind: 'nonce' }
  /** Something of the treasury is not final yet. */
  | { readonly kind: 'in_flight' }
  /** It would exceed the cap of the day. */
  | OverBudget;

/** A refill is within a cap, always. */
export type RefillBudget = Pick<GasBudget, 'costGwei' | 'day'> & { readonly laneGwei: bigint };

/** The refills of a treasury, as the ledger has counted them. */
export interface RefillRecord {
  /** Reserved or spent on the day, gwei. */
  readonly spentGwei: bigint;
  readonly last: LastRefill | undefined;
}

/**
 * The steps of a treasury that other lanes do not have. What was sent is followed, replaced and closed by those of
 * every lane: see `LaneLedger`, which also says what the errors mean.
 *
 * @throws LeaseLostError, LedgerEpochChangedError, RedisUnavailableError.
 */
export interface RefillStore {
  /**
   * The account nonce, the signed bytes and the charge of the day, in one step. It may be repeated.
   *
   * @param attempt - a `refill`.
   */
  refill(held: HeldLane, attempt: Attempt, budget: RefillBudget): Promise<RefillResult>;

  /** @param day - `2026-11-21`, UTC. */
  refillRecord(held: Pick<HeldLane, 'chainId' | 'lane'>, day: string): Promise<RefillRecord>;
}

/** Reads the text of {@link lastRefillOf} from a ledger. Any other text is `undefined`, as it must not be shown. */
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

/** The public facts of a refill. @throws TypeError for another attempt. */
export function lastRefillOf({ refill, accountNonce, transactions }: Attempt): LastRefill {
  if (refill === undefined) throw new TypeError('a refill attempt without a lane');
  const at = transactions[0]?.signedAt ?? 0;
  return { to: refill.to, valueWei: refill.valueWei.toString(), accountNonce, at };
}
