import type { Address, Hex } from 'viem';

/**
 * Readers of single values of a request body. Each takes a JSON value and returns the internal form, or `undefined` for
 * another form. None of them throws.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

/** An EVM address in any letter case, with the prefix `0x`. */
export const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** A transaction hash, a private key, or any other 32 bytes in any letter case. */
export const HEX_32_BYTES = /^0x[0-9a-fA-F]{64}$/;
/** SHA-256 in base64url without padding, as `settlementIdOf` writes it. */
export const SETTLEMENT_ID = /^[A-Za-z0-9_-]{43}$/;
/** A day (UTC), or a time with its zone. No pattern shows whether the date exists. */
export const DAY_OR_TIME =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,3})?)?(Z|[+-][0-9]{2}:[0-9]{2}))?$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;
const DECIMAL = /^-?\d+$/;
const HEXADECIMAL = /^0x[0-9a-fA-F]+$/;

/**
 * UTF-16 units of a token's name and version in its EIP-712 domain, which are hashed for each request and stored with
 * each settlement. No known token has a name above 60.
 */
export const TOKEN_NAME_MAX = 256;
export const TOKEN_VERSION_MAX = 64;

/**
 * Bytes of a signature. A key signs 65; a passkey wallet's, wrapped for a wallet that is not deployed yet,
 * takes about 2000. A longer one would cost more gas as calldata than a settlement may.
 */
export const SIGNATURE_MAX_BYTES = 8192;

/** The size limit of nodes for a transaction (128 KiB). */
const BYTES_MAX = 131_072;

/** 2^256 has 78 decimal digits; the rest allows leading zeros. Limits the cost of BigInt(). */
const INTEGER_MAX_CHARACTERS = 100;

export const UINT256_MAX = 2n ** 256n - 1n;
export const UINT128_MAX = 2n ** 128n - 1n;
export const UINT40_MAX = 2n ** 40n - 1n;

/** Maximum rows of one claim of channels, as the manager of the reference sends. */
export const CLAIM_ROWS_MAX = 100;

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

/** Lower-case byte string with an even number of digits, of limited length. */
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
  // JavaScript reads 30 February as a day in March.
  const midnight = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day));
  return midnight.getUTCDate() === day && at >= 0 ? at : undefined;
}

/** A text within a limit of UTF-16 units, which is checked before any other work. */
export function isShortText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length <= most;
}

/**
 * An integer of any sign: decimal string, `0x` string or a safe JSON number. It may be outside uint256; the signature
 * check refuses what cannot be signed, as the reference does.
 */
export function readInteger(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  if (!isShortText(value, INTEGER_MAX_CHARACTERS)) return undefined;
  return DECIMAL.test(value) || HEXADECIMAL.test(value) ? BigInt(value) : undefined;
}

/** A number that fits the type of a contract. */
export function readUint(value: unknown, most = UINT256_MAX): bigint | undefined {
  const number = readInteger(value);
  return number !== undefined && number >= 0n && number <= most ? number : undefined;
}

export function readBytes32(value: unknown): Hex | undefined {
  const bytes = readBytes(value, 32);
  return bytes?.length === 66 ? bytes : undefined;
}

export function isUint256(value: bigint): boolean {
  return value >= 0n && value <= UINT256_MAX;
}
