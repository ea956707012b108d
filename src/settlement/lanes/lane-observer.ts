import type { SendResult } from '../../platform/chain/rpc/rpc-classes.js';
import type { SignFailure } from '../../platform/signing/key-service.js';
import type { Ending, FormerWriter, ParkReason } from '../ledger/lane-store.js';
import type { Attempt } from '../model/attempt.js';
import type { Inclusion } from './state/tracked-attempt.js';

/** The events of lanes' work, for logs and metrics. */
export interface LaneObserver {
  opened(lane: string, facts: { readonly nextNonce: number; readonly inFlight: number }): void;
  lost(lane: string, error: unknown): void;
  /** @param from - the process that had the lane and did not give it up: it died, or stood still. */
  takenOver(lane: string, from: FormerWriter): void;
  sent(lane: string, attempt: Attempt): void;
  broadcast(attempt: Attempt, results: readonly SendResult[]): void;
  bumped(lane: string, attempt: Attempt): void;
  rebroadcast(lane: string, attempt: Attempt): void;
  included(lane: string, attempt: Attempt, inclusion: Inclusion, latencyMs: number): void;
  /** A block that had included an attempt was replaced. Success of its settlements may have been acknowledged. */
  reorged(lane: string, attempt: Attempt): void;
  /** @param attempt - `undefined` for settlements whose attempts were dead before. */
  ended(lane: string, attempt: Attempt | undefined, endings: readonly Ending[]): void;
  /** Success of these was acknowledged, and the chain dropped their payment: they are resubmitted. */
  resubmitted(lane: string, settlementIds: readonly string[]): void;
  /** The outcome of a settlement cannot be read now. A background task asks for it again. */
  parked(lane: string, settlementId: string, why: ParkReason): void;
  /** How many are parked on a chain. */
  parkedNow(chainId: number, count: number): void;
  /** The ledger went back, and this process has stored what it remembers of a lane. */
  restored(lane: string, attempts: number): void;
  /** An account nonce was used by a transaction that is not ours. */
  nonceUsedByOther(lane: string, accountNonce: number): void;
  batchReverted(lane: string, attempt: Attempt): void;
  /** The service that keeps its key has signed. @param ms - milliseconds that it took. */
  signed(lane: string, ms: number): void;
  /** The service that keeps its key has not signed. @param code - its own name of the failure. */
  notSigned(lane: string, failure: SignFailure, code: string): void;
  failed(lane: string, what: string, error: unknown): void;
}

/** Who listens beside the log. */
export const LaneObserver = Symbol('LaneObserver');
/** One that also logs. */
export const LOGGED_LANES = Symbol('LOGGED_LANES');
