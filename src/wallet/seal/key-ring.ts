import { hkdfSync } from 'node:crypto';
import type { Secret } from '../../platform/config/secret.js';
import type { RotatingSecret } from '../../platform/config/wallet-settings.js';

/** One key of 256 bits, and its public name, which reveals nothing of the key. */
export interface SealKey {
  readonly id: string;
  readonly bytes: Buffer;
}

/**
 * The keys of one purpose, derived from the wallet's secrets by HKDF (RFC 5869). The newest key
 * seals; the previous one can still open.
 */
export class KeyRing {
  readonly newest: SealKey;
  readonly #keys: ReadonlyMap<string, SealKey>;

  constructor({ current, previous }: RotatingSecret, purpose: string) {
    this.newest = deriveKey(current, purpose);
    const keys = [this.newest, ...(previous === undefined ? [] : [deriveKey(previous, purpose)])];
    this.#keys = new Map(keys.map((key) => [key.id, key]));
  }

  find(id: string): SealKey | undefined {
    return this.#keys.get(id);
  }
}

/** A separate key for one context, so that no key is used for more than a few messages. */
export function subkeyOf({ bytes }: SealKey, context: string): Buffer {
  return derive(bytes, context, 32);
}

function deriveKey(secret: Secret<string>, purpose: string): SealKey {
  const material = Buffer.from(secret.reveal());
  return {
    id: derive(material, `${purpose}/id`, 6).toString('hex'),
    bytes: derive(material, purpose, 32),
  };
}

function derive(material: Buffer, info: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', material, 'x402-wallet', info, bytes));
}
