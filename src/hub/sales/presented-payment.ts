import { identityOf } from '../../protocol/payment/identity.js';
import { parsePayment } from '../../protocol/payment/parse-payment.js';
import type { Claim } from '../../protocol/payment/payment.js';
import { readBase64Json } from '../../protocol/payment/payment-required.js';
import { type JsonObject, readOptionalObject } from '../../protocol/payment/wire-values.js';

/** Characters of a header with a payment; a smart wallet's signature takes most of them. */
const HEADER_MAX = 24_576;

/** A payment as a buyer shows it, before anybody has judged it. */
export interface ReadPayment {
  readonly payload: JsonObject;
  /** The terms the buyer says it accepted. */
  readonly accepted: JsonObject;
  readonly authorizationId: string;
  readonly signedTag: string;
  /** Lower case. */
  readonly payer: string;
  /** Unix seconds; the chain takes it until then. */
  readonly deadline: bigint;
}

/**
 * Reads `PAYMENT-SIGNATURE` (x402 V2, transport over HTTP). Nothing in it is believed yet.
 *
 * @returns `undefined` for what no wallet can have signed.
 */
export function readPresented(header: string): ReadPayment | undefined {
  const payload = header.length > HEADER_MAX ? undefined : readBase64Json(header);
  const accepted = readOptionalObject(payload?.['accepted']);
  if (payload === undefined || accepted === undefined) return undefined;
  const envelope = { x402Version: 2, paymentPayload: payload, paymentRequirements: accepted };
  // Which networks are served is the facilitator's to say.
  const parsed = parsePayment(envelope, [2], () => true);
  if (!parsed.ok) return undefined;
  const { claim } = parsed.payment;
  const identity = identityOf(parsed.payment);
  const deadline = deadlineOf(claim);
  if (identity === undefined || claim.from === undefined || deadline === undefined) {
    return undefined;
  }
  const { authorizationId, signedTag } = identity;
  const payer = claim.from.toLowerCase();
  return { payload, accepted, authorizationId, signedTag, payer, deadline };
}

/** Of both ways to pay. */
function deadlineOf(claim: Claim): bigint | undefined {
  const { validBefore, deadline } = claim as { validBefore?: unknown; deadline?: unknown };
  const end = validBefore ?? deadline;
  return typeof end === 'bigint' ? end : undefined;
}
