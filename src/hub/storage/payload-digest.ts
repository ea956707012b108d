import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { BLOCK_BYTES, type Digest } from './storage-provider.js';

/** Takes a payload piece by piece. */
export class PayloadDigest {
  readonly #sha256: Hash = createHash('sha256');
  readonly #blocks: string[] = [];
  #size = 0;
  #crc = 0;

  get size(): number {
    return this.#size;
  }

  update(piece: Uint8Array): void {
    this.#sha256.update(piece);
    let from = 0;
    while (from < piece.length) {
      const room = BLOCK_BYTES - (this.#size % BLOCK_BYTES);
      const part = piece.subarray(from, from + room);
      this.#crc = crc32(part, this.#crc);
      this.#size += part.length;
      from += part.length;
      if (this.#size % BLOCK_BYTES === 0) this.#endBlock();
    }
  }

  finish(): Digest {
    if (this.#size % BLOCK_BYTES !== 0) this.#endBlock();
    return {
      size: this.#size,
      sha256: this.#sha256.digest('hex'),
      blocks: this.#blocks.join(''),
    };
  }

  #endBlock(): void {
    this.#blocks.push(crcText(this.#crc));
    this.#crc = 0;
  }
}

export function digestOf(payload: Uint8Array): Digest {
  const digest = new PayloadDigest();
  digest.update(payload);
  return digest.finish();
}

/** Hex digits of one CRC-32. */
export const CRC_DIGITS = 8;

/** 8 hex digits. */
export function crcText(crc: number): string {
  return crc.toString(16).padStart(8, '0');
}
