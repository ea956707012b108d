import { close, open, read } from 'node:fs';
import { promisify } from 'node:util';
import { BLOCK_BYTES } from '../storage-provider.js';

const openFile = promisify(open);
const closeFile = promisify(close);

/** Volumes kept open for reading; small reads of one volume need no further open. */
const OPEN_MAX = 128;

interface OpenFile {
  readonly descriptor: Promise<number>;
  users: number;
  isDropped: boolean;
}

/** Reads of volumes. Many readers share one open file. */
export class VolumeReader {
  readonly #files = new Map<string, OpenFile>();

  /** Pieces of at most {@link BLOCK_BYTES}; ends early where the file does. */
  async *read(path: string, from: number, length: number): AsyncGenerator<Uint8Array> {
    const file = this.#take(path);
    try {
      const descriptor = await file.descriptor;
      const end = from + length;
      for (let at = from; at < end;) {
        const piece = await readPiece(descriptor, at, Math.min(BLOCK_BYTES, end - at));
        if (piece.length === 0) return;
        at += piece.length;
        yield piece;
      }
    } finally {
      this.#giveBack(file);
    }
  }

  async close(): Promise<void> {
    const files = [...this.#files.values()];
    this.#files.clear();
    await Promise.all(files.map((file) => this.#drop(file)));
  }

  #take(path: string): OpenFile {
    const known = this.#files.get(path);
    if (known !== undefined) {
      this.#files.delete(path);
      this.#files.set(path, known);
      known.users += 1;
      return known;
    }
    const file = { descriptor: openFile(path, 'r'), users: 1, isDropped: false };
    this.#files.set(path, file);
    // A file that cannot be opened now may be there later.
    file.descriptor.catch(() => this.#files.delete(path));
    this.#trim();
    return file;
  }

  #giveBack(file: OpenFile): void {
    file.users -= 1;
    if (file.isDropped) void this.#drop(file);
  }

  #trim(): void {
    if (this.#files.size <= OPEN_MAX) return;
    const [oldest] = this.#files;
    if (oldest === undefined) return;
    this.#files.delete(oldest[0]);
    void this.#drop(oldest[1]);
  }

  /** Closes it, now or when its last reader is done. */
  async #drop(file: OpenFile): Promise<void> {
    file.isDropped = true;
    if (file.users > 0) return;
    try {
      await closeFile(await file.descriptor);
    } catch {
      // It was never open.
    }
  }
}

function readPiece(descriptor: number, position: number, length: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    // Not from Node's shared pool: a reader may keep it for as long as its client is slow.
    const buffer = Buffer.allocUnsafeSlow(length);
    read(descriptor, buffer, 0, length, position, (error, bytesRead) => {
      if (error === null) resolve(buffer.subarray(0, bytesRead));
      else reject(error);
    });
  });
}
