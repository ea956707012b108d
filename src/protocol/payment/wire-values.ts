import type { Address, Hex } from 'viem';

/**
 * Readers for single values of a request body. Each takes what JSON gave and returns the internal
 * form, or `undefined` when the value is not of that form. None of them throws.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

/** An EVM address in any letter case. The prefix is a small `0x`. */
export const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** A transaction hash, a private key, or any other 32 bytes in any letter case. */
export const HEX_32_BYTES = /^0x[0-9a-fA-F]{64}$/;
/** SHA-256 in base64url without padding, as `settlementIdOf` writes it. */
export const SETTLEMENT_ID = /^[A-Za-z0-9_-]{43}$/;
/** A day (UTC), or a time with its zone. Whether the calendar has it no pattern says. */
export const DAY_OR_TIME =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,3})?)?(Z|[+-][0-9]{2}:[0-9]{2}))?$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;
const DECIMAL = /^-?\d+$/;
const HEXADECIMAL = /^0x[0-9a-fA-F]+$/;

/**
 * UTF-16 units of a token's name and version in its EIP-712 domain. They are hashed for each request and
 * kept with each settlement; no token known to us has a name of more than 60.
 */
export const TOKEN_NAME_MAX = 256;
export const TOKEN_VERSION_MAX = 64;

/**
 * Bytes of a signature. A key signs 65; a passkey wallet's, wrapped for a wallet that is not deployed yet,
 * takes about 2000. A longer one would cost more gas as calldata than a settlement may.
 */
export const SIGNATURE_MAX_BYTES = 8192;

/** Nodes take no larger transaction (128 KiB), whatever it holds. */
const BYTES_MAX = 131_072;

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
  return isEvmAddress(value) ? (value.toLowerCase() as Address) : undefined;
}

export function isEvmAddress(value: unknown): value is Address {
  return typeof value === 'string' && EVM_ADDRESS.test(value);
}

export function isTransactionHash(value: unknown): value is Hex {
  return typeof value === 'string' && HEX_32_BYTES.test(value);
}

export function isSettlementId(value: unknown): value is string {
  return typeof value === 'string' && SETTLEMENT_ID.test(value);
}

/** Lower-case byte string with an even number of digits, of at most so many bytes. */
export function readBytes(value: unknown, maxBytes: number = BYTES_MAX): Hex | undefined {
  return isShortText(value, 2 + maxBytes * 2) && BYTES.test(value)
    ? (value.toLowerCase() as Hex)
    : undefined;
}

/** Milliseconds since the epoch of a day (UTC), or of a time with its zone. */
export function readDayOrTime(value: unknown): number | undefined {
  if (typeof value !== 'string' || !DAY_OR_TIME.test(value)) return undefined;
  const [year, month, day] = value.slice(0, 10).split('-').map(Number);
  const at = Date.parse(value);
  // A 30th of February is read as a day of March.
  const midnight = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day));
  return midnight.getUTCDate() === day && at >= 0 ? at : undefined;
}

/** A text of at most so many UTF-16 units: asked first, so that nothing costs more for a longer one. */
export function isShortText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length <= most;
}

/**
 * An integer of any sign: decimal string, `0x` string or a safe JSON number. It may lie outside
 * uint256; what cannot be signed over is refused where the signature is checked, as the reference
 * does.
 */
export function readInteger(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (!isShortText(value, INTEGER_MAX_CHARACTERS)) return undefined;
  return DECIMAL.test(value) || HEXADECIMAL.test(value) ? BigInt(value) : undefined;
}

export function isUint256(value: bigint): boolean {
  return value >= 0n && value <= UINT256_MAX;
}
