import { type JsonObject, readOptionalObject } from './wire-values.js';

/** The x402 extension by which a buyer gives its payment a name of its own. */
export const PAYMENT_IDENTIFIER = 'payment-identifier';

const ID = /^[a-zA-Z0-9_-]{16,128}$/;

/** Whether a text may be such a name. */
function isPaymentIdentifier(text: string): boolean {
  return ID.test(text);
}

/**
 * The name a buyer gave its payment, where there is one of the extension's form. Nothing is signed with it:
 * it is a label to look the payment up by, and proves nothing.
 */
export function readPaymentIdentifier(paymentPayload: JsonObject): string | undefined {
  const extensions = readOptionalObject(paymentPayload['extensions']);
  const declared = readOptionalObject(extensions?.[PAYMENT_IDENTIFIER]);
  const id = readOptionalObject(declared?.['info'])?.['id'];
  return typeof id === 'string' && isPaymentIdentifier(id) ? id : undefined;
}
