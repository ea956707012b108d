import { isJsonObject } from '../../protocol/payment/wire-values.js';

/** An envelope for {@link readEnvelope}. */
export interface PaymentQuery {
  readonly paymentPayload: Readonly<Record<string, unknown>>;
  readonly paymentRequirements: Readonly<Record<string, unknown>>;
}

export const PAYMENT_QUERY_USAGE =
  'paymentPayload and paymentRequirements are expected, each a JSON object in base64url.';

/** `?paymentPayload=&paymentRequirements=`, each a JSON object in base64url (RFC 4648 §5). */
export function readPaymentQuery(
  query: Readonly<Record<string, unknown>>,
): PaymentQuery | 'none' | 'malformed' {
  const { paymentPayload, paymentRequirements } = query;
  if (paymentPayload === undefined && paymentRequirements === undefined) return 'none';
  const payload = readPart(paymentPayload);
  const requirements = readPart(paymentRequirements);
  return payload === undefined || requirements === undefined
    ? 'malformed'
    : { paymentPayload: payload, paymentRequirements: requirements };
}

function readPart(part: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof part !== 'string') return undefined;
  try {
    const value = JSON.parse(Buffer.from(part, 'base64url').toString('utf8')) as unknown;
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
