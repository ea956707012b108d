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
  /** The protocol versions of its endpoint. */
  readonly versions: readonly (1 | 2)[];
  readonly parsed: ParsedPayment;
}

/** The facts of a refusal that an answer adds to the reason. */
export interface Refused {
  /** For people. */
  readonly message: string;
  /** For programs. */
  readonly extensions: { readonly diagnosis: Diagnosis };
}

/**
 * Explains a refusal: the wrong place in the request, the expected value and the value sent.
 *
 * @param chainIds - of the networks served here.
 * @param now - Unix seconds.
 * @param cause - one sentence of detail beyond the reason.
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
