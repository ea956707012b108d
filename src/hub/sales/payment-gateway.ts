import type { JsonObject } from '../../protocol/payment/wire-values.js';
import { type ReasonFacts, REASONS } from '../../protocol/reasons.js';

/** A payment as it was sent, and what it has to pay (x402 V2 specification §5). */
export interface PresentedPayment {
  readonly paymentPayload: JsonObject;
  readonly paymentRequirements: JsonObject;
}

/** The facilitator's answer to a verify (§5.4.2). */
export interface VerifyReply {
  readonly isValid: boolean;
  readonly invalidReason?: string | undefined;
}

/** The facilitator's answer to a settle (§5.3.2). */
export interface SettleReply {
  readonly success: boolean;
  readonly errorReason?: string | undefined;
  /** The hash once one is known, else empty. */
  readonly transaction: string;
  readonly network: string;
  readonly payer?: string | undefined;
}

/** The facilitator that the hub sells by. */
export interface PaymentGateway {
  /** @throws GatewayUnavailableError */
  verify(payment: PresentedPayment): Promise<VerifyReply>;
  /**
   * The same payment with the same key is the same settlement, from any process and at any time.
   *
   * @throws GatewayUnavailableError when it did not answer: it may have settled.
   */
  settle(payment: PresentedPayment, idempotencyKey: string): Promise<SettleReply>;
}
export const PaymentGateway = Symbol('PaymentGateway');

/**
 * Whether a settlement that was not a success will never be one, or nothing came of it that could be. What
 * is not known to have failed has not failed: a reason that is not in our table says nothing.
 */
export function hasFailed({ success, errorReason = '', transaction }: SettleReply): boolean {
  const facts = success || OURS_TO_MEND.has(errorReason) ? undefined : factsOf(errorReason);
  if (facts === undefined) return false;
  // A refusal before anything was signed binds nothing: the same payment would be judged afresh.
  const isRefused = facts.fault === 'buyer' && transaction === '';
  return isRefused || facts.retry === 'never' || facts.retry === 'new-payment';
}

/** Whether the same payment may well be good in a moment, without its buyer's doing anything. */
export function isTransient(invalidReason: string): boolean {
  const facts = factsOf(invalidReason);
  if (facts === undefined) return false;
  const isLater = facts.retry === 'same' || facts.retry === 'later';
  return OURS_TO_MEND.has(invalidReason) || (isLater && facts.fault !== 'buyer');
}

function factsOf(reason: string): ReasonFacts | undefined {
  const table: Readonly<Record<string, ReasonFacts>> = REASONS;
  return Object.hasOwn(table, reason) ? table[reason] : undefined;
}

/** They are about how the hub asks, and say nothing of the payment. */
const OURS_TO_MEND: ReadonlySet<string> = new Set([
  'unauthorized',
  'forbidden',
  'idempotency_key_conflict',
]);
