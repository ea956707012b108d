import type { SendResult } from '../chain/rpc/rpc-classes.js';
import type { Attempt } from '../core/settlement/attempt.js';
import type { Ending } from '../ledger/lane-ledger.js';
import type { Inclusion } from './tracked-attempt.js';

/** What lanes tell about their work; for logs and metrics. */
export interface LaneObserver {
  opened(lane: string, facts: { readonly nextNonce: number; readonly inFlight: number }): void;
  lost(lane: string, error: unknown): void;
  sent(lane: string, attempt: Attempt): void;
  broadcast(attempt: Attempt, results: readonly SendResult[]): void;
  bumped(lane: string, attempt: Attempt): void;
  rebroadcast(lane: string, attempt: Attempt): void;
  included(lane: string, attempt: Attempt, inclusion: Inclusion, latencyMs: number): void;
  /** A block that had included an attempt was replaced; `told` says whether success was told. */
  reorged(lane: string, attempt: Attempt): void;
  ended(lane: string, attempt: Attempt, endings: readonly Ending[]): void;
  /** An account nonce was used by a transaction that is not ours. */
  nonceUsedByOther(lane: string, accountNonce: number): void;
  batchReverted(lane: string, attempt: Attempt): void;
  failed(lane: string, what: string, error: unknown): void;
}

/** Who listens beside the log. */
export const LaneObserver = Symbol('LaneObserver');
