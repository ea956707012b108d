import { createKeccak } from 'hash-wasm';

/**
 * Keccak-256 in WebAssembly: every step hashes signatures, typed data or transactions, and JavaScript took more than
 * ten times as long. Loaded once; every later call is synchronous.
 */
const hasher = await createKeccak(256);

/** @returns 32 bytes as hex digits without prefix. */
export function keccak256Digits(bytes: Uint8Array | string): string {
  return hasher.init().update(bytes).digest('hex');
}

/** @returns 32 bytes. */
export function keccak256Bytes(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(hasher.init().update(bytes).digest('binary'));
}
