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
import { Inject, Injectable, Optional } from '@nestjs/common';
import { AppConfig } from '../../platform/config/app-config.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { renewAnswer } from '../asks/ask.js';
import { renewIntent } from '../pay/intent.js';
import { KeyRing } from '../seal/key-ring.js';
import { RecordSeal } from '../seal/record-seal.js';
import { UpkeepLog } from '../upkeep-log.js';
import { WalletStorageError } from '../wallet-error.js';
import { WALLET_CLOCK, WALLET_SETTINGS, type WalletClock } from '../wallet-tokens.js';
import { CHECKPOINT_SUFFIX, type CoveredFile, writeCheckpoint } from './checkpoint.js';
import { tryLock } from './file-lock.js';
import { type JournalAnchor, RedisAnchor } from './journal-anchor.js';
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
/** Bytes that are read besides a checkpoint; or half the size of the checkpoint, if that is more. */
const TAIL_BYTES = 1024 * 1024;
/** Each start of a process leaves a file. */
const FILES_MAX = 16;

/**
 * The record of every decision, from which Redis is restored: append-only files in a folder shared by all wallet
 * processes. A checkpoint holds their sum, so that reading takes a bounded time. Files covered by a checkpoint move to
 * `archive/`, which is never read.
 */
@Injectable()
export class Journal {
  readonly #dir: string;
  readonly #keys: KeyRing;
  readonly #writer: JournalWriter;
  readonly #reader: JournalReader;
  #timer: NodeJS.Timeout | undefined;
  #isCompacting = false;
  /** Bytes of each file that a checkpoint covers. */
  #covered: ReadonlyMap<string, number> = new Map();

  /** @param readAgainMs - pause before an inconsistent folder is read once more. */
  constructor(
    @Inject(WALLET_SETTINGS)
    { auditDir, sealSecret }: Pick<WalletConfig, 'auditDir' | 'sealSecret'>,
    @Inject(AppConfig) private readonly config: Pick<AppConfig, 'retentionSeconds'>,
    @Inject(RedisAnchor) private readonly anchor: JournalAnchor,
    private readonly seal: RecordSeal,
    @Inject(WALLET_CLOCK) private readonly now: WalletClock,
    @Inject(UpkeepLog) private readonly upkeep: Pick<UpkeepLog, 'failed'>,
    @Optional() readAgainMs?: number,
  ) {
    this.#dir = auditDir;
    this.#keys = new KeyRing(sealSecret, 'journal');
    this.#reader = new JournalReader(auditDir, this.#keys, anchor, readAgainMs);
    this.#writer = new JournalWriter(auditDir, this.#keys, anchor);
  }

  /** @throws WalletStorageError when the folder cannot be written. */
  async open(): Promise<void> {
    const dir = this.#dir;
    try {
      await mkdir(join(dir, ARCHIVE), { recursive: true, mode: 0o700 });
      await access(dir, constants.R_OK | constants.W_OK);
    } catch (error) {
      throw new WalletStorageError('WALLET_AUDIT_DIR', error);
    }
  }

  /** Writes checkpoints from now on, whenever enough was written since the last one. */
  start(): void {
    const look = (): void => {
      this.compact().catch((error: unknown) => {
        this.upkeep.failed(error);
      });
    };
    look();
    this.#timer = setInterval(look, LOOK_MS);
    this.#timer.unref();
  }

  /**
   * @throws WalletStorageError when the line may not be on disk. A file in an uncertain state is not written any more;
   *   after a lack of disk space the write is repeated.
   */
  append(event: JournalEvent): Promise<void> {
    return this.#writer.append(event);
  }

  /** The whole state of the journal. @throws WalletStorageError, RedisUnavailableError */
  async state(): Promise<JournalState> {
    return (await this.#read()).state;
  }

  /** Whether the file can be written, as far as that is visible without writing. */
  async isWritable(): Promise<boolean> {
    try {
      await access(this.#dir, constants.R_OK | constants.W_OK);
      return await this.#writer.isWritable();
    } catch {
      return false;
    }
  }

  /** Whether a file that is still read was sealed with the previous secret. */
  async needsPreviousSecret(): Promise<boolean> {
    const names = (await readdir(this.#dir)).filter(isJournalName);
    return names.some((name) => name.split('.').at(-2) !== this.#keys.newest.id);
  }

  /**
   * Writes a checkpoint and archives the files it covers. Only one process does this at a time.
   *
   * @param options - `isForced`: also if little was written since the last one.
   * @returns whether a checkpoint was written.
   */
  async compact({ isForced = false } = {}): Promise<boolean> {
    if (this.#isCompacting || !(isForced || (await this.#isWorthIt()))) return false;
    this.#isCompacting = true;
    let lock: FileHandle | undefined;
    try {
      lock = await open(join(this.#dir, LOCK), 'a', 0o600);
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
    const dir = this.#dir;
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
    const dir = this.#dir;
    const { state, heads, checkpoint, order } = await this.#read();
    const held: FileHandle[] = [];
    try {
      const files = new Map<string, CoveredFile>();
      for (const [name, head] of heads) {
        const handle = await this.#holdIfDone(name, head.bytes);
        if (handle !== undefined) held.push(handle);
        files.set(name, { head, isDone: handle !== undefined });
      }
      // The anchor may not know that they were archived, or they were moved back since.
      for (const [name, file] of checkpoint?.files ?? []) {
        const isKept = file.isDone && !files.has(name) && this.#isRecent(name);
        if (isKept) files.set(name, file);
      }
      const sequence = (checkpoint?.sequence ?? 0) + 1;
      const items = this.#itemsOf(state);
      const name = await writeCheckpoint(dir, this.#keys, { sequence, order, files }, items);
      await syncFolder(dir);
      this.anchor.saw(CHECKPOINTS, sequence);
      this.#noteCovered(files);
      await this.#putAside(files, name);
    } finally {
      await Promise.all(held.map((handle) => handle.close()));
    }
  }

  /** By the time in the file name. */
  #isRecent(name: string): boolean {
    const begun = Date.parse(name.slice(0, 'yyyy-mm-dd'.length)) / 1000;
    return begun > this.now() - HORIZON_SECONDS;
  }

  /** Locked against other writers; `undefined` if another process may still write to it. */
  async #holdIfDone(name: string, readBytes: number): Promise<FileHandle | undefined> {
    if (name === this.#writer.fileName) return undefined;
    const handle = await open(join(this.#dir, name), 'r+');
    const isOurs = tryLock(handle.fd) === true;
    // An interrupted line stays after the position that was read; complete lines would be new records.
    const rest = isOurs ? await tailOf(handle, readBytes) : '\n';
    if (!rest.includes('\n')) return handle;
    await handle.close();
    return undefined;
  }

  *#itemsOf(state: JournalState): Generator<StateItem> {
    for (const item of state.items(this.now(), this.config.retentionSeconds)) {
      yield this.#renewed(item);
    }
  }

  /** The record in it is sealed with the newest key. */
  #renewed(item: StateItem): StateItem {
    if (item.item === 'answer') {
      const { id, intent, isDenied } = item.answer;
      const record = renewAnswer(this.seal, id, isDenied, intent.record);
      return { ...item, answer: { ...item.answer, intent: { ...intent, record } } };
    }
    const intent = item.item === 'charge' ? item.charge.intent : undefined;
    if (item.item !== 'charge' || intent === undefined) return item;
    const record = renewIntent(this.seal, item.wallet, intent.id, intent.record);
    return { ...item, charge: { ...item.charge, intent: { ...intent, record } } };
  }

  async #putAside(files: ReadonlyMap<string, CoveredFile>, checkpoint: string): Promise<void> {
    const dir = this.#dir;
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
    await this.anchor.forget(done);
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
