import { randomUUID } from 'node:crypto';
import { link, open, readFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { PinoLogger } from 'nestjs-pino';
import { StorageUnavailableError } from '../../errors.js';
import { bufferOrStream } from '../buffer-or-stream.js';
import { type Commit, GroupCommit } from '../group-commit.js';
import { digestOf } from '../payload-digest.js';
import { StorageClock } from '../storage-clock.js';
import {
  BLOCK_BYTES,
  type Describe,
  type JournalEntry,
  type Note,
  type Payload,
  type Place,
  type StorageObserver,
  type StorageProvider,
  type StoredObject,
} from '../storage-provider.js';
import { makeFolder, syncFolder } from './durable.js';
import { punchHoles } from './holes.js';
import { Journal } from './journal.js';
import { Spool } from './spool.js';
import { VolumeReader } from './volume-reader.js';
import { volumePath, Volumes } from './volumes.js';
import { WriterLock } from './writer-lock.js';

interface FsStorageOptions {
  readonly dir: string;
  readonly hubAddress: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly logger: Pick<PinoLogger, 'info' | 'warn' | 'error'>;
}

/** How often a process that is not the writer asks for the lock. */
const LOCK_POLL_MS = 200;
/** How long an upload waits for this process to become the writer. */
const WRITER_WAIT_MS = 10_000;

/**
 * Files in a folder:
 *
 * ```
 * store-id                    identity of the data
 * writer.lock                 held by the one process that writes
 * volumes/<owner>/<n>.vol     payloads, each padded to a multiple of 31 bytes, and nothing else
 * journal/<order>.log         what lies where, in the order of storing
 * spool/<id>.part             long uploads that are not whole yet
 * ```
 */
export class FsStorage implements StorageProvider {
  /** There is one writer. */
  readonly orderSlack = 0;
  #storeId = '';
  #writer: GroupCommit | undefined;
  #observer: StorageObserver | undefined;
  #isStopped = false;
  #acquiring: Promise<void> = Promise.resolve();
  readonly #waiters = new Set<() => void>();
  readonly #reader = new VolumeReader();
  readonly #lock: WriterLock;
  readonly #volumes: Volumes;
  readonly #journal: Journal;
  readonly #spool: Spool;
  readonly #clock: StorageClock;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: FsStorageOptions) {
    const { dir, hubAddress, now } = options;
    this.#lock = new WriterLock(join(dir, 'writer.lock'));
    this.#volumes = new Volumes(join(dir, 'volumes'), hubAddress);
    this.#journal = new Journal(join(dir, 'journal'));
    this.#spool = new Spool(join(dir, 'spool'));
    this.#clock = new StorageClock(now);
  }

  get storeId(): string {
    return this.#storeId;
  }

  get isWriter(): boolean {
    return this.#writer !== undefined;
  }

  async start(observer: StorageObserver): Promise<void> {
    const { dir } = this.options;
    for (const part of ['.', 'volumes', 'journal', 'spool']) await makeFolder(join(dir, part));
    this.#storeId = await readStoreId(dir);
    this.#observer = observer;
    await this.#acquire();
    if (this.isWriter) return;
    this.options.logger.info(
      'another process holds the hub storage for writing; uploads to this process wait',
    );
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#acquiring;
    await this.#writer?.idle();
    this.#writer = undefined;
    await Promise.all([this.#volumes.close(), this.#journal.close(), this.#reader.close()]);
    await this.#lock.release();
  }

  async put(describe: Describe, payload: Payload): Promise<StoredObject> {
    const commit = await this.#prepared(describe, payload);
    try {
      const entry = await this.#commit(commit);
      if (entry.op === 'put') return entry;
      throw new StorageUnavailableError('put');
    } catch (error) {
      if (commit.kind === 'file') await this.#spool.discard(commit.spooled);
      throw error;
    }
  }

  async note(note: Note): Promise<void> {
    await this.#commit({ kind: 'note', note });
  }

  async *read(place: Place, from: number, length: number): AsyncGenerator<Uint8Array> {
    const path = volumePath(join(this.options.dir, 'volumes'), place);
    try {
      yield* this.#reader.read(path, place.start + from, length);
    } catch (error) {
      throw new StorageUnavailableError('read', error);
    }
  }

  /** Readers of other processes need no notice: unreferenced bytes are not read. */
  async free(places: readonly Place[]): Promise<void> {
    if (!this.isWriter) throw new StorageUnavailableError('free');
    try {
      await punchHoles(join(this.options.dir, 'volumes'), places);
    } catch (error) {
      throw new StorageUnavailableError('free', error);
    }
  }

  entries(afterOrder: number): AsyncIterable<JournalEntry> {
    return this.#journal.entries(afterOrder);
  }

  /** The beginning of a long one goes to the disk when the rest does. */
  heldOf(bytes: number): number {
    return bytes > BLOCK_BYTES ? 0 : bytes;
  }

  async probe(): Promise<void> {
    const path = join(this.options.dir, 'spool', `${randomUUID()}.probe`);
    const text = randomUUID();
    try {
      const file = await open(path, 'wx');
      try {
        await file.writeFile(text);
        await file.datasync();
      } finally {
        await file.close();
      }
      if ((await readFile(path, 'utf8')) !== text)
        throw new Error('the bytes read from the probe file differ from the bytes written');
    } catch (error) {
      throw new StorageUnavailableError('probe', error);
    } finally {
      await rm(path, { force: true });
    }
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.options.dir);
    return bavail * bsize;
  }

  /** Short payloads stay in memory; a longer one goes to disk as it comes. */
  async #prepared(describe: Describe, payload: Payload): Promise<Commit> {
    const upload = await bufferOrStream(payload, BLOCK_BYTES);
    if (upload.isShort) {
      const { bytes } = upload;
      return { kind: 'bytes', object: await describe(), payload: bytes, digest: digestOf(bytes) };
    }
    const spooled = await this.#spool.take(upload.pieces);
    try {
      return { kind: 'file', object: await describe(), spooled };
    } catch (error) {
      await this.#spool.discard(spooled);
      throw error;
    }
  }

  async #commit(commit: Commit): Promise<JournalEntry> {
    if (this.#writer === undefined) await this.#writerOrTimeout();
    if (this.#writer === undefined)
      throw new StorageUnavailableError('this process does not hold the storage for writing yet');
    return this.#writer.commit(commit);
  }

  #writerOrTimeout(): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = setTimeout(done, WRITER_WAIT_MS);
      this.#waiters.add(done);
    });
  }

  /** Becomes the writer, or asks again later, until stopped. */
  async #acquire(): Promise<void> {
    if (await this.#lock.tryTake()) {
      await this.#begin();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#acquiring = this.#acquireQuietly();
    }, LOCK_POLL_MS);
  }

  async #acquireQuietly(): Promise<void> {
    if (this.#isStopped) return;
    try {
      await this.#acquire();
    } catch (error) {
      this.options.logger.error({ err: error }, 'the hub storage cannot be opened for writing yet');
      await this.#journal.close();
      await this.#lock.release();
      this.#timer = setTimeout(() => {
        this.#acquiring = this.#acquireQuietly();
      }, LOCK_POLL_MS);
    }
  }

  async #begin(): Promise<void> {
    const observer = this.#observer;
    if (observer === undefined) throw new Error('the storage was not started');
    const { lastOrder, entries, tornBytes } = await this.#journal.openForAppend();
    this.#clock.advanceTo(lastOrder);
    this.#volumes.noteTail(entries);
    await this.#spool.removeLeftOvers(this.options.now());
    await observer.opened(lastOrder);
    this.#writer = new GroupCommit(this.#volumes, this.#journal, this.#clock, observer);
    const { logger } = this.options;
    if (tornBytes > 0) {
      logger.warn({ tornBytes }, 'the hub journal ended in an incomplete line, which was cut off');
    }
    logger.info('this process holds the hub storage for writing');
    for (const wake of [...this.#waiters]) wake();
  }
}

/** Made once, as a whole, by the first process. */
async function readStoreId(dir: string): Promise<string> {
  const path = join(dir, 'store-id');
  const draft = `${path}.${randomUUID()}`;
  const file = await open(draft, 'wx');
  try {
    await file.writeFile(randomUUID());
    await file.sync();
    await link(draft, path);
    await syncFolder(dir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await file.close();
    await rm(draft, { force: true });
  }
  return (await readFile(path, 'utf8')).trim();
}
