import { createHmac, timingSafeEqual } from 'node:crypto';
import { type KeyRing, type SealKey, subkeyOf } from '../seal/key-ring.js';

/** The position of a reader or writer in a chained file: the number of lines and the last MAC. */
export interface ChainHead {
  readonly bytes: number;
  readonly lines: number;
  /** Base64url of HMAC-SHA-256; empty before the first line. */
  readonly mac: string;
}

export const CHAIN_START: ChainHead = { bytes: 0, lines: 0, mac: '' };

/** The content of a file is not what its writer wrote. */
export class BrokenChainError extends Error {}

/**
 * The lines of one file, each `<mac> <json>`. A MAC covers the previous MAC and this text, with a key derived from the
 * file's name. Without the key no line can be changed, added, moved or removed from the middle. Missing lines at the
 * end show by heads that are stored elsewhere.
 */
export class LineChain {
  readonly #key: Buffer;
  #head: ChainHead;

  constructor(key: SealKey, fileName: string, head: ChainHead = CHAIN_START) {
    this.#key = subkeyOf(key, `file:${fileName}`);
    this.#head = head;
  }

  get head(): ChainHead {
    return this.#head;
  }

  /** The next line, with its line feed. */
  write(json: string): string {
    const mac = this.#macOf(json);
    const line = `${mac.toString('base64url')} ${json}\n`;
    this.#advance(mac, Buffer.byteLength(line));
    return line;
  }

  /**
   * Reads the next line, without its line feed.
   *
   * @throws BrokenChainError when the line does not follow the previous one.
   */
  read(line: Buffer): string {
    const blank = line.indexOf(0x20);
    const given = Buffer.from(line.subarray(0, Math.max(blank, 0)).toString('latin1'), 'base64url');
    const json = line.subarray(blank + 1).toString('utf8');
    const expected = this.#macOf(json);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new BrokenChainError('a line of the journal does not follow the previous line');
    }
    this.#advance(expected, line.length + 1);
    return json;
  }

  #macOf(json: string): Buffer {
    return createHmac('sha256', this.#key).update(`${this.#head.mac} ${json}`).digest();
  }

  #advance(mac: Buffer, bytes: number): void {
    const { bytes: before, lines } = this.#head;
    this.#head = { bytes: before + bytes, lines: lines + 1, mac: mac.toString('base64url') };
  }
}

/** The key of a file, from its name `<anything>.<key id>.<extension>`. */
export function keyOfFile(name: string, keys: KeyRing): SealKey {
  const key = keys.find(name.split('.').at(-2) ?? '');
  if (key !== undefined) return key;
  throw new BrokenChainError('a file of the journal was sealed with another secret');
}
