import type { Hex } from 'viem';
import { uintWord } from './abi-words.js';

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

/** The order of secp256k1. With the other `v`, `ORDER - s` recovers the same signer as `s`. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
/** The largest `s` that nodes accept in transactions, and the ECDSA library of OpenZeppelin in messages (EIP-2). */
export const S_MAX = ORDER / 2n;

/** Whether the ECDSA library of OpenZeppelin accepts this form: `v` 27 or 28, `s` in the lower half. */
export function isCanonical(signature: Hex): boolean {
  if (!isEcdsaSignature(signature)) return false;
  const v = signature.slice(-2);
  return (v === '1b' || v === '1c') && sOf(signature) <= S_MAX;
}

/** The same signature in that form; a signature of another length is returned unchanged. */
export function canonical(sent: Hex): Hex {
  const signature = withNormalizedV(sent);
  if (!isEcdsaSignature(signature)) return signature;
  const s = sOf(signature);
  if (s <= S_MAX || s >= ORDER) return signature;
  const v = signature.endsWith('1b') ? '1c' : '1b';
  return `${signature.slice(0, 66)}${uintWord(ORDER - s)}${v}` as Hex;
}

function sOf(signature: Hex): bigint {
  return BigInt(`0x${signature.slice(66, 130)}`);
}
