import { type JsonObject, readOptionalObject } from './wire-values.js';

/** The x402 extension by which a buyer names its payment. */
export const PAYMENT_IDENTIFIER = 'payment-identifier';

const ID = /^[a-zA-Z0-9_-]{16,128}$/;

/** Whether a text is a valid payment identifier. */
function isPaymentIdentifier(text: string): boolean {
  return ID.test(text);
}

/**
 * The buyer's payment identifier, if it has the extension's form. It is not signed: it is a label for look-ups and
 * proves nothing.
 */
export function readPaymentIdentifier(paymentPayload: JsonObject): string | undefined {
  const extensions = readOptionalObject(paymentPayload['extensions']);
  const declared = readOptionalObject(extensions?.[PAYMENT_IDENTIFIER]);
  const id = readOptionalObject(declared?.['info'])?.['id'];
  return typeof id === 'string' && isPaymentIdentifier(id) ? id : undefined;
}
