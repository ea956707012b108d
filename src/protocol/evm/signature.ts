import type { Hex } from 'viem';

/** A signature of the ECDSA kind: r, s, v in 65 bytes. Compact 64-byte ones (ERC-2098) are refused. */
const ECDSA_SIGNATURE_CHARACTERS = 2 + 65 * 2;

export function isEcdsaSignature(signature: Hex): boolean {
  return signature.length === ECDSA_SIGNATURE_CHARACTERS;
}

/**
 * The signature with v written as 27 or 28. Some wallets send 0 or 1, which recover to the same
 * signer but which FiatToken-style contracts refuse.
 */
export function withNormalizedV(signature: Hex): Hex {
  if (!isEcdsaSignature(signature)) return signature;
  const v = signature.slice(-2);
  if (v === '00') return `${signature.slice(0, -2)}1b` as Hex;
  if (v === '01') return `${signature.slice(0, -2)}1c` as Hex;
  return signature;
}
