import { constants } from 'node:fs';
import {
  access,
  type FileHandle,
  mkdir,
  open,
  readdir,
  rename,
  stat,
  unlink,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyRing } from '../seal/key-ring.js';
import { WalletStorageError } from '../wallet-error.js';
import { CHECKPOINT_SUFFIX, type CoveredFile, writeCheckpoint } from './checkpoint.js';
import { tryLock } from './file-lock.js';
import type { JournalAnchor } from './journal-anchor.js';
import {
  CHECKPOINTS,
  JOURNAL_SUFFIX,
  JournalReader,
  type JournalReading,
} from './journal-reader.js';
import type { JournalEvent } from './journal-record.js';
import { HORIZON_SECONDS, type JournalState, type StateItem } from './journal-state.js';
import { JournalWriter, syncFolder } from './journal-writer.js';

const ARCHIVE = 'archive';
const LOCK = 'checkpoint.lock';
const LOOK_MS = 60_000;
/** So much is read beside a checkpoint, or half of what the checkpoint itself takes. */
const TAIL_BYTES = 1024 * 1024;
/** Each start of a process leaves a file. */
const FILES_MAX = 16;

export interface JournalOptions {
  readonly dir: string;
  readonly keys: KeyRing;
  readonly anchor: JournalAnchor;
  /** How long intents are kept. */
  readonly retentionSeconds: number;
  /** Unix seconds. */
  readonly now: () => number;
  /** Seals what a checkpoint keeps of an intent with the newest key. */
  readonly renewIntent?: (wallet: string, intentId: string, record: string) => string;
  /** The same of an answer of the owner's. */
  readonly renewAnswer?: (askId: string, isDenied: boolean, record: string) => string;
  readonly onFailure?: (error: unknown) => void;
  /** The pause before a folder that does not add up is read once more. */
  readonly readAgainMs?: number | undefined;
}

/**
 * The record of every decision, and the source from which Redis is restored: append-only files in a
 * folder that all wallet processes share. A checkpoint sums them up, so that reading takes a
 * bounded time. Files that a checkpoint covers move to `archive/`, which is never read.
 */
export class Journal {
  readonly #writer: JournalWriter;
  readonly #reader: JournalReader;
  #timer: NodeJS.Timeout | undefined;
  #isCompacting = false;
  /** Bytes of each file that need not be read any more. */
  #covered: ReadonlyMap<string, number> = new Map();

  constructor(private readonly options: JournalOptions) {
    const { dir, keys, anchor } = options;
    this.#reader = new JournalReader(dir, keys, anchor, options.readAgainMs);
    this.#writer = new JournalWriter({
      dir,
      keys,
      onWritten: (name, lines) => {
        anchor.saw(name, lines);
      },
    });
  }

  /** @throws WalletStorageError when the folder cannot be written to. */
  async open(): Promise<void> {
    const { dir } = this.options;
    try {
      await mkdir(join(dir, ARCHIVE), { recursive: true, mode: 0o700 });
      await access(dir, constants.R_OK | constants.W_OK);
    } catch (error) {
      throw new WalletStorageError('WALLET_AUDIT_DIR', error);
    }
  }

  /** Writes checkpoints from now on, whenever there is enough to read beside the last one. */
  start(): void {
    const look = (): void => {
      this.compact().catch((error: unknown) => this.options.onFailure?.(error));
    };
    look();
    this.#timer = setInterval(look, LOOK_MS);
    this.#timer.unref();
  }

  /**
   * @throws WalletStorageError when it may not be on disk. A file whose state is uncertain is not
   *   written to any more; after a lack of disk space the write is tried again.
   */
  append(event: JournalEvent): Promise<void> {
    return this.#writer.append(event);
  }

  /** All that counts of it. @throws WalletStorageError, RedisUnavailableError */
  async state(): Promise<JournalState> {
    return (await this.#read()).state;
  }

  /** Whether the file can be written to, as far as that shows without writing. */
  async isWritable(): Promise<boolean> {
    try {
      await access(this.options.dir, constants.R_OK | constants.W_OK);
      return await this.#writer.isWritable();
    } catch {
      return false;
    }
  }

  /** Whether a file that is still read was sealed with the secret before. */
  async needsPreviousSecret(): Promise<boolean> {
    const { dir, keys } = this.options;
    const names = (await readdir(dir)).filter(isJournalName);
    return names.some((name) => name.split('.').at(-2) !== keys.newest.id);
  }

  /**
   * Writes a checkpoint and puts aside what it covers; one process at a time does.
   *
   * @param options - `isForced`: also where there is little to read beside the last one.
   * @returns whether it did.
   */
  async compact({ isForced = false } = {}): Promise<boolean> {
    if (this.#isCompacting || !(isForced || (await this.#isWorthIt()))) return false;
    this.#isCompacting = true;
    let lock: FileHandle | undefined;
    try {
      lock = await open(join(this.options.dir, LOCK), 'a', 0o600);
      if (tryLock(lock.fd) === false) return false;
      await this.#compact();
      return true;
    } finally {
      await lock?.close();
      this.#isCompacting = false;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#writer.close();
  }

  async #read(): Promise<JournalReading> {
    const reading = await this.#reader.read();
    this.#writer.noteOrder(reading.order);
    this.#noteCovered(reading.checkpoint?.files);
    return reading;
  }

  #noteCovered(files: ReadonlyMap<string, CoveredFile> | undefined): void {
    this.#covered = new Map([...(files ?? [])].map(([name, { head }]) => [name, head.bytes]));
  }

  async #isWorthIt(): Promise<boolean> {
    const { dir } = this.options;
    const names = await readdir(dir);
    const bytesOf = async (suffix: string): Promise<number> => {
      const found = names.filter((name) => name.endsWith(suffix));
      const rests = found.map(async (name) => {
        const { size } = await stat(join(dir, name));
        return size - (this.#covered.get(name) ?? 0);
      });
      const sizes = await Promise.all(rests.map((rest) => rest.catch(() => 0)));
      return sizes.reduce((sum, size) => sum + size, 0);
    };
    const [written, kept] = [await bytesOf(JOURNAL_SUFFIX), await bytesOf(CHECKPOINT_SUFFIX)];
    const files = names.filter((name) => name.endsWith(JOURNAL_SUFFIX)).length;
    if (files > FILES_MAX || written > Math.max(TAIL_BYTES, kept / 2)) return true;
    return this.needsPreviousSecret();
  }

  async #compact(): Promise<void> {
    const { dir, keys, anchor } = this.options;
    const { state, heads, checkpoint, order } = await this.#read();
    const held: FileHandle[] = [];
    try {
      const files = new Map<string, CoveredFile>();
      for (const [name, head] of heads) {
        const handle = await this.#holdIfDone(name, head.bytes);
        if (handle !== undefined) held.push(handle);
        files.set(name, { head, isDone: handle !== undefined });
      }
      // The anchor may have missed that they were archived, or they have been put back since.
      for (const [name, file] of checkpoint?.files ?? []) {
        const isKept = file.isDone && !files.has(name) && this.#isRecent(name);
        if (isKept) files.set(name, file);
      }
      const sequence = (checkpoint?.sequence ?? 0) + 1;
      const items = this.#itemsOf(state);
      const name = await writeCheckpoint(dir, keys, { sequence, order, files }, items);
      await syncFolder(dir);
      anchor.saw(CHECKPOINTS, sequence);
      this.#noteCovered(files);
      await this.#putAside(files, name);
    } finally {
      await Promise.all(held.map((handle) => handle.close()));
    }
  }

  /** By the time in its name. */
  #isRecent(name: string): boolean {
    const begun = Date.parse(name.slice(0, 'yyyy-mm-dd'.length)) / 1000;
    return begun > this.options.now() - HORIZON_SECONDS;
  }

  /** Locked against other writers; `undefined` when another process may still write to it. */
  async #holdIfDone(name: string, readBytes: number): Promise<FileHandle | undefined> {
    if (name === this.#writer.fileName) return undefined;
    const handle = await open(join(this.options.dir, name), 'r+');
    const isOurs = tryLock(handle.fd) === true;
    // A line that was cut off stays behind what was read; whole lines would have come since.
    const rest = isOurs ? await tailOf(handle, readBytes) : '\n';
    if (!rest.includes('\n')) return handle;
    await handle.close();
    return undefined;
  }

  *#itemsOf(state: JournalState): Generator<StateItem> {
    const { now, retentionSeconds, renewIntent, renewAnswer } = this.options;
    for (const item of state.items(now(), retentionSeconds)) {
      if (item.item === 'answer' && renewAnswer !== undefined) {
        const { id, intent, isDenied } = item.answer;
        const record = renewAnswer(id, isDenied, intent.record);
        yield { ...item, answer: { ...item.answer, intent: { ...intent, record } } };
        continue;
      }
      const intent = item.item === 'charge' ? item.charge.intent : undefined;
      if (item.item !== 'charge' || intent === undefined || renewIntent === undefined) {
        yield item;
        continue;
      }
      const record = renewIntent(item.wallet, intent.id, intent.record);
      yield { ...item, charge: { ...item.charge, intent: { ...intent, record } } };
    }
  }

  async #putAside(files: ReadonlyMap<string, CoveredFile>, checkpoint: string): Promise<void> {
    const { dir, anchor } = this.options;
    const done = [...files].flatMap(([name, { isDone }]) => (isDone ? [name] : []));
    for (const name of done) {
      await rename(join(dir, name), join(dir, ARCHIVE, name)).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      });
    }
    for (const name of await readdir(dir)) {
      const isOld = name.endsWith(CHECKPOINT_SUFFIX) && name < checkpoint;
      if (isOld || name.endsWith('.draft')) await unlink(join(dir, name)).catch(() => undefined);
    }
    await syncFolder(dir);
    await anchor.forget(done);
  }
}

function isJournalName(name: string): boolean {
  return name.endsWith(JOURNAL_SUFFIX) || name.endsWith(CHECKPOINT_SUFFIX);
}

async function tailOf(handle: FileHandle, from: number): Promise<string> {
  const { size } = await handle.stat();
  const rest = Buffer.alloc(Math.max(0, size - from));
  await handle.read(rest, 0, rest.length, from);
  return rest.toString('latin1');
}
