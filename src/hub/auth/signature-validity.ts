import type { Address } from 'viem';

/** The result of a header: its signer, or the reason of its refusal. Addresses are in lower case. */
export type SignatureValidity =
  | { readonly isValid: true; readonly signer: Address }
  | { readonly isValid: false; readonly message: string };

export function invalid(message: string): SignatureValidity & { readonly isValid: false } {
  return { isValid: false, message };
}
