import type { TreasuryStatus } from './refill.js';

/** Why a lane takes no work at the moment. */
export type LaneCondition =
  | 'no_gas'
  | 'budget_exhausted'
  | 'gas_price_cap'
  | 'chain_unavailable'
  | 'head_stale'
  | 'resyncing'
  | 'paused'
  /** The service that keeps its key does not sign. */
  | 'signer_unavailable'
  /** Account nonces are missing below those in flight. */
  | 'nonce_gap';

/** The status that a lane publishes to the other processes, about once a second. */
export interface LaneStatus {
  readonly lane: string;
  readonly chainId: number;
  readonly signer: string;
  readonly processId: string;
  readonly trouble: LaneCondition | undefined;
  readonly balanceWei: string;
  /** How many more settlements its gas balance pays for, at the price of now. */
  readonly settlementsLeft: number;
  /** The lane was offered a transaction that costs more than its balance; cheaper ones it can still send. */
  readonly isShort?: boolean;
  /** Attempts in flight, and how many there may be. */
  readonly inFlight: number;
  readonly window: number;
  /** Account nonces allocated, not finalized, of which nothing is stored. */
  readonly gaps: number;
  /** Account nonces: the next to allocate, and the first that is not finalized. */
  readonly nextNonce: number;
  readonly oldestNonce: number;
  /** Milliseconds since the oldest attempt in flight was allocated. */
  readonly oldestInFlightMs: number;
  /** Milliseconds from broadcast to inclusion, lately. */
  readonly inclusionMs: number;
  /** Settlements a second it can do, as far as it has shown. */
  readonly perSecond: number;
  /** Wei for a unit of gas that it would pay now; what verify simulates with. */
  readonly gasPriceWei: string;
  /** Assets it has stopped serving: transfers of them succeeded without moving tokens. */
  readonly suspendedAssets: readonly string[];
  /** The lane serves only payments that name its account, and `/supported` offers it no longer. */
  readonly isRetiring?: boolean;
  /** Set for the account that refills the lanes; it settles nothing itself. */
  readonly treasury?: TreasuryStatus;
}
