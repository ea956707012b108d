import { type Hex, isHex } from 'viem';

/** The parts of a block header that settlement needs. */
export interface BlockHeader {
  readonly number: bigint;
  readonly hash: Hex;
  /** Missing where the node does not say. */
  readonly parentHash?: Hex;
  /** Unix seconds. */
  readonly timestamp: number;
  /** Wei; `undefined` on chains without EIP-1559. */
  readonly baseFeePerGas: bigint | undefined;
  readonly gasLimit: bigint;
}

/**
 * Reads a block in JSON-RPC form; `undefined` for `null`, for a block without a hash, and for one with a malformed
 * quantity, which counts as no answer.
 */
export function readBlockHeader(value: unknown): BlockHeader | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const block = value as Readonly<Record<string, unknown>>;
  const { hash, parentHash } = block;
  const number = readQuantity(block['number']);
  const timestamp = readCount(block['timestamp']);
  const baseFeePerGas = readOptional(block['baseFeePerGas']);
  const gasLimit = readOptional(block['gasLimit']);
  if (number === undefined || timestamp === undefined || !isHex(hash)) return undefined;
  if (baseFeePerGas === 'malformed' || gasLimit === 'malformed') return undefined;
  return {
    number,
    hash: hash.toLowerCase() as Hex,
    ...(isHex(parentHash) && { parentHash: parentHash.toLowerCase() as Hex }),
    timestamp,
    baseFeePerGas,
    gasLimit: gasLimit ?? 0n,
  };
}

function readOptional(value: unknown): bigint | undefined | 'malformed' {
  if (value === undefined || value === null) return undefined;
  return readQuantity(value) ?? 'malformed';
}

/**
 * Whether two endpoints agree about one block in every field that decides outcomes. An equal hash proves nothing about
 * the other fields: a node may return the right hash with a wrong time.
 */
export function isSameBlock(a: BlockHeader, b: BlockHeader): boolean {
  return a.hash === b.hash && a.number === b.number && a.timestamp === b.timestamp;
}

/** The hex digits of the largest word, and their prefix. */
const QUANTITY_MAX_CHARACTERS = 66;

/** A number as JSON-RPC writes it, of 256 bits at most. */
export function readQuantity(value: unknown): bigint | undefined {
  if (!isHex(value) || value.length <= 2 || value.length > QUANTITY_MAX_CHARACTERS)
    return undefined;
  return BigInt(value);
}

/** A JSON-RPC number that is small enough for exact arithmetic. */
export function readCount(value: unknown): number | undefined {
  const count = readQuantity(value);
  return count === undefined || count > BigInt(Number.MAX_SAFE_INTEGER) ? undefined : Number(count);
}

/** Writes a number as JSON-RPC does. */
export function quantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`;
}
