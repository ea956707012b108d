import type { Hex } from 'viem';

/** The `bytea` value of a hash or an address. */
export function bytesOf(hex: Hex): Buffer {
  return Buffer.from(hex.slice(2), 'hex');
}

/** Hex in lower case; `undefined` for a column that is null. */
export function hexOf(bytes: Buffer): Hex;
export function hexOf(bytes: Buffer | null): Hex | undefined;
export function hexOf(bytes: Buffer | null): Hex | undefined {
  return bytes === null ? undefined : `0x${bytes.toString('hex')}`;
}
