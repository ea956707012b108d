import { createHash } from 'node:crypto';
import type { Address, Hex } from 'viem';
import { keccak256Digits } from '../../protocol/evm/keccak.js';

/** Finds the account behind a digest and a 65-byte signature; `undefined` for an invalid one. */
export type RecoverSigner = (digest: Hex, signature: Hex) => Address | undefined;

const SIGNATURE = /^0x[0-9a-f]{130}$/;

/**
 * The original's clients write the recovery byte as 0 and 1, 27 and 28, 31 and 32 (compressed keys), or 35 to 38
 * (EIP-155). The result has 27 or 28.
 *
 * @returns `undefined` for a value that is not a signature of 65 bytes.
 */
export function normalized(signature: string): Hex | undefined {
  const text = signature.toLowerCase();
  if (!SIGNATURE.test(text)) return undefined;
  const parity = parityOf(Number.parseInt(text.slice(130), 16));
  return parity === undefined ? undefined : `0x${text.slice(2, 130)}${parity === 0 ? '1b' : '1c'}`;
}

function parityOf(v: number): number | undefined {
  if (v === 0 || v === 1) return v;
  for (const base of [27, 31, 35, 37]) {
    if (v === base || v === base + 1) return v - base;
  }
  return undefined;
}

export function sha256Hex(bytes: Uint8Array): Hex {
  return `0x${createHash('sha256').update(bytes).digest('hex')}`;
}

/** The digest of a message as wallets sign it (EIP-191, version 0x45). */
export function personalDigest(message: Uint8Array): Hex {
  const prefix = Buffer.from(`\x19Ethereum Signed Message:\n${message.length}`, 'latin1');
  return `0x${keccak256Digits(Buffer.concat([prefix, message]))}`;
}
