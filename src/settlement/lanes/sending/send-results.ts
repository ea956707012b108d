import type { AllocateResult, FundResult } from '../../ledger/lane-store.js';
import type { TrackedAttempt } from '../state/tracked-attempt.js';

export type Sent =
  | { readonly kind: 'sent'; readonly tracked: TrackedAttempt }
  | { readonly kind: 'price_cap' }
  | { readonly kind: 'no_signature' }
  | Exclude<AllocateResult, { kind: 'ok' }>;

export type Funded =
  | { readonly kind: 'sent'; readonly tracked: TrackedAttempt }
  | { readonly kind: 'price_cap' }
  | { readonly kind: 'no_signature' }
  | Exclude<FundResult, { kind: 'ok' }>;

/**
 * - `no_room`: no higher fee is possible. `no_key`: this process only follows the lane.
 * - `no_signature`: the key cannot sign now.
 */
export type Replaced = 'replaced' | 'cancelled' | 'no_room' | 'no_key' | 'no_signature';

/** Wei; `undefined` for no limit. */
export interface DailyBudgets {
  readonly laneWei: bigint | undefined;
  readonly payeeWei: bigint | undefined;
  /** For transactions of payers, top-ups included. Without it no payer is funded. */
  readonly fundingsWei?: bigint | undefined;
  /** The most that one payer is sent. */
  readonly topUpWei?: bigint | undefined;
}
