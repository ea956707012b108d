import type { Address, Hex } from 'viem';

/** A signature of the ECDSA kind: r, s, v in 65 bytes. Compact 64-byte ones (ERC-2098) are refused. */
const ECDSA_SIGNATURE_CHARACTERS = 2 + 65 * 2;

/** ERC-6492: the last 32 bytes of a wrapped signature. */
const ERC6492_MAGIC = '6492649264926492649264926492649264926492649264926492649264926492';
const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000';

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

/** The parts of an ERC-6492 signature (an account that may not be deployed yet). */
export interface WrappedSignature {
  readonly factory: Address;
  readonly inner: Hex;
}

/**
 * Unwraps `abi.encode(address factory, bytes factoryCalldata, bytes signature) ‖ magic` (ERC-6492).
 * `undefined` for any other signature, for a zero factory, and for a wrapper that does not decode.
 */
export function unwrapErc6492(signature: Hex): WrappedSignature | undefined {
  const digits = signature.slice(2);
  if (!digits.endsWith(ERC6492_MAGIC)) return undefined;
  const body = digits.slice(0, -ERC6492_MAGIC.length);
  const factory: Address = `0x${body.slice(24, 64)}`;
  const inner = readBytesAt(body, body.slice(128, 192));
  if (factory.length !== 42 || factory === ZERO_ADDRESS || inner === undefined) return undefined;
  return { factory, inner };
}

/** Reads the ABI `bytes` value whose offset is given in one word. */
function readBytesAt(body: string, offsetWord: string): Hex | undefined {
  const start = Number.parseInt(offsetWord, 16) * 2;
  const length = Number.parseInt(body.slice(start, start + 64), 16) * 2;
  const content = body.slice(start + 64, start + 64 + length);
  return Number.isSafeInteger(length) && content.length === length ? `0x${content}` : undefined;
}
