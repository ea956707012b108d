import { type Diagnosis, explain } from '../protocol/diagnosis/diagnosis.js';
import { paymentFinding } from '../protocol/diagnosis/payment-finding.js';
import { requestFinding, unreadSignatureFinding } from '../protocol/diagnosis/request-findings.js';
import type { ParsedPayment, PaymentEnvelope } from '../protocol/payment/parse-payment.js';
import type { Reason } from '../protocol/reasons.js';
import { INVALID_SIGNATURE } from '../protocol/schemes/reason-groups.js';
import { malformedFinding } from './dto/malformed.js';

/** A request as far as it could be read. */
export interface ReadRequest {
  readonly envelope: PaymentEnvelope;
  /** Versions its endpoint answers. */
  readonly versions: readonly (1 | 2)[];
  readonly parsed: ParsedPayment;
}

/** What an answer says of a refusal beside its reason. */
export interface Refused {
  /** For people. */
  readonly message: string;
  /** For programs. */
  readonly extensions: { readonly diagnosis: Diagnosis };
}

/**
 * Explains a refusal: where the request is wrong, what was expected and what came.
 *
 * @param chainIds - of the networks served here.
 * @param now - Unix seconds.
 * @param cause - a sentence on what was found out beyond the reason.
 */
export function refusalOf(
  reason: Reason,
  { envelope, versions, parsed }: ReadRequest,
  chainIds: readonly number[],
  now = Math.floor(Date.now() / 1000),
  cause?: string,
): Refused {
  const finding = parsed.ok
    ? ((INVALID_SIGNATURE.has(reason) ? unreadSignatureFinding(envelope) : undefined) ??
      paymentFinding(reason, parsed.payment, now))
    : (requestFinding(reason, envelope, { versions, chainIds }) ??
      malformedFinding(reason, { ...envelope }));
  const { message, diagnosis } = explain(reason, finding, cause);
  return { message, extensions: { diagnosis } };
}
