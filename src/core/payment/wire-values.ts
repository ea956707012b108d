import type { Address, Hex } from 'viem';

/**
 * Readers for single values of a request body. Each takes what JSON gave and returns the internal
 * form, or `undefined` when the value is not of that form. None of them throws.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;
const DECIMAL = /^-?\d+$/;
const HEXADECIMAL = /^0x[0-9a-fA-F]+$/;

/** 2^256 has 78 decimal digits; the rest is room for leading zeros. Bounds the cost of BigInt(). */
const INTEGER_MAX_CHARACTERS = 100;

export const UINT256_MAX = 2n ** 256n - 1n;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object, where `null` and a missing field both count as absent. */
export function readOptionalObject(value: unknown): JsonObject | undefined {
  return isJsonObject(value) ? value : undefined;
}

/** Lower-case address; any letter case is accepted, an upper-case `0X` prefix is not. */
export function readAddress(value: unknown): Address | undefined {
  return typeof value === 'string' && ADDRESS.test(value)
    ? (value.toLowerCase() as Address)
    : undefined;
}

/** Lower-case byte string with an even number of digits. */
export function readBytes(value: unknown): Hex | undefined {
  return typeof value === 'string' && BYTES.test(value) ? (value.toLowerCase() as Hex) : undefined;
}

/**
 * An integer of any sign: decimal string, `0x` string or a safe JSON number. It may lie outside
 * uint256; what cannot be signed over is refused where the signature is checked, as the reference
 * does.
 */
export function readInteger(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (typeof value !== 'string' || value.length > INTEGER_MAX_CHARACTERS) return undefined;
  return DECIMAL.test(value) || HEXADECIMAL.test(value) ? BigInt(value) : undefined;
}

export function isUint256(value: bigint): boolean {
  return value >= 0n && value <= UINT256_MAX;
}
