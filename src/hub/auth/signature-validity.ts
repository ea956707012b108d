import type { Address } from 'viem';

/** What a header proves: who signed it, or why it proves nothing. Addresses are in lower case. */
export type SignatureValidity =
  | { readonly isValid: true; readonly signer: Address }
  | { readonly isValid: false; readonly message: string };

export function invalid(message: string): SignatureValidity & { readonly isValid: false } {
  return { isValid: false, message };
}
