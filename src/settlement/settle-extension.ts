import type { Payment } from '../protocol/payment/payment.js';
import type { JsonObject } from '../protocol/payment/wire-values.js';
import type { ClaimRef } from './ledger/settlement-store.js';

/** A settle request whose payment could be read, with all that it carries beside the payment. */
export interface ExtendedRequest {
  readonly paymentPayload: JsonObject;
  readonly paymentRequirements: JsonObject;
  readonly payment: Payment;
}

/** How a settle request was answered, as far as it decides what becomes of the rest. */
export interface ExtendedOutcome {
  readonly result: 'success' | 'accepted' | 'pending' | 'failure';
  readonly settlementId: string | undefined;
}

/** The extension of one settle request, on its way. None of the methods throws or waits. */
export interface CarriedExtension {
  /** Called before the payment is claimed under this name; the claim may never be made. */
  beforeClaim(ref: ClaimRef): void;

  /** The answer's header for it: the value of `EXTENSION-RESPONSES`. */
  responseTo(outcome: ExtendedOutcome): string;
}

/** Handles the extensions that requests carry beside the payment. Of an answer it changes only a header. */
export interface SettleExtension {
  /** `undefined` where a request carries nothing of the kind. Never throws. */
  carriedBy(request: ExtendedRequest): CarriedExtension | undefined;
}

export const SETTLE_EXTENSION = Symbol('SETTLE_EXTENSION');
