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

/** Reads a block as nodes give it; `undefined` for `null`, and for a block still without a hash. */
export function readBlockHeader(value: unknown): BlockHeader | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const block = value as Readonly<Record<string, unknown>>;
  const { number, hash, parentHash, timestamp, baseFeePerGas, gasLimit } = block;
  if (!isHex(number) || !isHex(hash) || !isHex(timestamp)) return undefined;
  return {
    number: BigInt(number),
    hash: hash.toLowerCase() as Hex,
    ...(isHex(parentHash) && { parentHash: parentHash.toLowerCase() as Hex }),
    timestamp: Number(timestamp),
    baseFeePerGas: isHex(baseFeePerGas) ? BigInt(baseFeePerGas) : undefined,
    gasLimit: isHex(gasLimit) ? BigInt(gasLimit) : 0n,
  };
}

/**
 * Whether two endpoints say the same of one block, in everything that outcomes are decided by. That they
 * name one hash proves nothing of the fields beside it: a node may give the right hash and a wrong time.
 */
export function isSameBlock(a: BlockHeader, b: BlockHeader): boolean {
  return a.hash === b.hash && a.number === b.number && a.timestamp === b.timestamp;
}

export function readQuantity(value: unknown): bigint | undefined {
  return isHex(value) && value.length > 2 ? BigInt(value) : undefined;
}

/** A number as JSON-RPC writes it. */
export function quantity(value: bigint | number): Hex {
  return `0x${value.toString(16)}`;
}
