import { randomUUID } from 'node:crypto';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { StorageUnavailableError } from '../../errors.js';
import type { SpooledPayload } from '../group-commit.js';
import { PayloadDigest } from '../payload-digest.js';
import { padded } from '../storage-provider.js';
import { writeAll } from './journal.js';

/** Longer than any upload: older files are left over from processes that are gone. */
const LEFT_OVER_MS = 3_600_000;

/** Where long payloads wait until they are whole: synced, padded, and named by their paths. */
export class Spool {
  constructor(private readonly dir: string) {}

  async removeLeftOvers(now: number): Promise<void> {
    for (const name of await readdir(this.dir)) {
      const path = join(this.dir, name);
      const { mtimeMs } = await stat(path);
      if (now - mtimeMs > LEFT_OVER_MS) await rm(path, { force: true });
    }
  }

  /**
   * Leaves nothing behind when the stream throws, and throws what it threw.
   *
   * @throws StorageUnavailableError
   */
  async take(pieces: AsyncIterable<Uint8Array>): Promise<SpooledPayload> {
    const path = join(this.dir, `${randomUUID()}.part`);
    const file = await onDisk(open(path, 'wx'));
    try {
      const digest = new PayloadDigest();
      for await (const piece of pieces) {
        const at = digest.size;
        digest.update(piece);
        await onDisk(writeAll(file, asBuffer(piece), at));
      }
      const { size } = digest;
      const padding = Buffer.alloc(padded(size) - size);
      await onDisk(writeAll(file, padding, size));
      await onDisk(file.datasync());
      return { ref: path, digest: digest.finish() };
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
  }

  async discard({ ref }: SpooledPayload): Promise<void> {
    await rm(ref, { force: true });
  }
}

/** Tells trouble of the disk from trouble of the stream. */
async function onDisk<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new StorageUnavailableError('spool', error);
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
