import type { SendResult } from '../../platform/chain/rpc/rpc-classes.js';
import type { SignFailure } from '../../platform/signing/key-service.js';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { Ending, FormerWriter, ParkReason } from '../ledger/lane-store.js';
import type { Attempt } from '../model/attempt.js';
import type { Inclusion } from './state/tracked-attempt.js';

/** The events of lanes' work, for logs and metrics. */
export interface LaneObserver {
  opened(lane: string, facts: { readonly nextNonce: number; readonly inFlight: number }): void;
  lost(lane: string, error: unknown): void;
  /** @param from - the process that held the lane without releasing it: it died or was frozen. */
  takenOver(lane: string, from: FormerWriter): void;
  sent(lane: string, attempt: Attempt): void;
  broadcast(chainId: number, attempt: Attempt, results: readonly SendResult[]): void;
  feesBumped(lane: string, attempt: Attempt): void;
  rebroadcast(lane: string, attempt: Attempt): void;
  /** @param payments - that it carries, by settlement id. */
  included(
    lane: string,
    attempt: Attempt,
    inclusion: Inclusion,
    latencyMs: number,
    payments: ReadonlyMap<string, AcceptedPayment>,
  ): void;
  /** A block that had included an attempt was replaced. Success of its settlements may have been acknowledged. */
  reorged(lane: string, attempt: Attempt): void;
  /** @param attempt - `undefined` for settlements whose attempts were dead before. */
  ended(lane: string, attempt: Attempt | undefined, endings: readonly Ending[]): void;
  /** Their success was acknowledged, and the chain dropped their payment, so they are resubmitted. */
  resubmitted(lane: string, settlementIds: readonly string[]): void;
  /** The outcome of a settlement cannot be read now. A background task asks again. */
  parked(lane: string, settlementId: string, why: ParkReason): void;
  /** The number of parked settlements on a chain. */
  parkedNow(chainId: number, count: number): void;
  /** The ledger lost writes, and this process has stored its copy of a lane again. */
  restored(lane: string, attempts: number): void;
  /** An account nonce was used by a transaction of another program. */
  nonceUsedByOther(lane: string, accountNonce: number): void;
  batchReverted(lane: string, attempt: Attempt): void;
  /** The key service has signed. @param ms - milliseconds that it took. */
  signed(lane: string, ms: number): void;
  /** The key service has not signed. @param code - the service's own name of the failure. */
  notSigned(lane: string, failure: SignFailure, code: string): void;
  failed(lane: string, what: string, error: unknown): void;
}

/** The observer without the log. */
export const LaneObserver = Symbol('LaneObserver');
/** The observer that also logs. */
export const LOGGED_LANES = Symbol('LOGGED_LANES');
