import { createCipheriv, createHash } from 'node:crypto';

/**
 * Keys and nonces that look random and are the same in every run with one seed: the key stream of
 * AES-256-CTR. On a fresh chain a payment made from them was never seen before.
 */
export class SeededBytes {
  readonly #cipher;

  constructor(readonly seed: string) {
    const key = createHash('sha256').update(seed).digest();
    this.#cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16));
  }

  next(count: number): Buffer {
    return this.#cipher.update(Buffer.alloc(count));
  }
}
