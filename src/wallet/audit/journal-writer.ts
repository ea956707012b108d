import { randomBytes } from 'node:crypto';
import { type FileHandle, open, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeyRing } from '../seal/key-ring.js';
import { WalletStorageError } from '../wallet-error.js';
import { tryLock } from './file-lock.js';
import type { JournalAnchor } from './journal-anchor.js';
import { JOURNAL_SUFFIX } from './journal-reader.js';
import type { JournalEvent } from './journal-record.js';
import { LineChain } from './line-chain.js';

/** A file of this size or age is followed by a new one, so that it can be archived. */
const FILE_MAX_BYTES = 4 * 1024 * 1024;
const FILE_MAX_AGE_MS = 86_400_000;
/** Lines of one write with one sync; later lines wait for the next write. */
const BATCH_MAX = 512;
/** Pause after a write failed for lack of disk space. */
const RETRY_MS = 1000;

interface Waiting {
  readonly event: JournalEvent;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

interface OpenFile {
  readonly handle: FileHandle;
  readonly name: string;
  readonly path: string;
  readonly inode: number;
  readonly chain: LineChain;
  readonly openedAt: number;
  /** Whether a line of the file was ever confirmed. */
  isUsed: boolean;
}

/**
 * Writes the files of one process. A line is on disk before its append resolves, and lines that arrive together share
 * one sync. The process holds a lock on the file it writes; only unlocked files are archived.
 */
export class JournalWriter {
  #file: OpenFile | undefined;
  readonly #waiting: Waiting[] = [];
  #isWriting = false;
  /** Final: the place or the content of the file is no longer certain. */
  #failure: Error | undefined;
  #noRoomUntil = 0;
  #order = 0;

  constructor(
    private readonly dir: string,
    private readonly keys: KeyRing,
    private readonly anchor: Pick<JournalAnchor, 'saw'>,
  ) {}

  /** The file that is being written. */
  get fileName(): string | undefined {
    return this.#file?.name;
  }

  /** Makes all later lines follow this order in a replay. */
  noteOrder(order: number): void {
    this.#order = Math.max(this.#order, order);
  }

  /** @throws WalletStorageError when the line may not be on disk. */
  append(event: JournalEvent): Promise<void> {
    return new Promise((done, failed) => {
      this.#waiting.push({ event, done, failed });
      if (!this.#isWriting) void this.#write();
    });
  }

  /** Whether the file can be written, as far as that is visible without writing. */
  async isWritable(): Promise<boolean> {
    if (this.#failure !== undefined || performance.now() < this.#noRoomUntil) return false;
    try {
      if (this.#file !== undefined) await assertInPlace(this.#file);
      return true;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close();
  }

  /** Never rejects; the promise of each line does. */
  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      try {
        await this.#writeLines(batch.map(({ event }) => event));
        for (const { done } of batch) done();
      } catch (error) {
        await this.#noteFailure(error);
        for (const { failed } of batch) failed(new WalletStorageError('WALLET_AUDIT_DIR', error));
      }
    }
    this.#isWriting = false;
  }

  async #writeLines(events: readonly JournalEvent[]): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    if (performance.now() < this.#noRoomUntil) throw new Error('the disk was full a moment ago');
    const file = await this.#openFile();
    await assertInPlace(file);
    const lines = events.map((event) =>
      file.chain.write(JSON.stringify({ v: 2, order: this.#nextOrder(), record: event })),
    );
    await file.handle.appendFile(lines.join(''));
    await file.handle.datasync();
    file.isUsed = true;
    this.anchor.saw(file.name, file.chain.head.lines);
  }

  /** A file with an unknown end is not written any more. After a lack of disk space, a new file may follow it. */
  async #noteFailure(error: unknown): Promise<void> {
    if (isNoRoom(error)) {
      this.#noRoomUntil = performance.now() + RETRY_MS;
      const file = this.#file;
      await this.close().catch(() => undefined);
      if (file?.isUsed === false) await unlink(file.path).catch(() => undefined);
    } else if (performance.now() >= this.#noRoomUntil) {
      this.#failure ??= error instanceof Error ? error : new Error('unknown failure');
    }
  }

  #nextOrder(): number {
    this.#order = Math.max(this.#order + 1, Date.now() * 1000);
    return this.#order;
  }

  async #openFile(): Promise<OpenFile> {
    const file = this.#file;
    if (file !== undefined) {
      const isYoung = Date.now() - file.openedAt < FILE_MAX_AGE_MS;
      if (isYoung && file.chain.head.bytes < FILE_MAX_BYTES) return file;
      await this.close();
    }
    this.#file = await this.#create();
    return this.#file;
  }

  /** Names sort by time. The directory entry is durable before the first line is. */
  async #create(): Promise<OpenFile> {
    const { dir } = this;
    const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-');
    const { newest } = this.keys;
    const name = `${stamp}-${randomBytes(4).toString('hex')}.${newest.id}${JOURNAL_SUFFIX}`;
    const path = join(dir, name);
    const handle = await open(path, 'ax', 0o600);
    try {
      if (tryLock(handle.fd) === false) throw new Error('a new journal file is already locked');
      await syncFolder(dir);
      const { ino: inode } = await handle.stat();
      const chain = new LineChain(newest, name);
      return { handle, name, path, inode, chain, openedAt: Date.now(), isUsed: false };
    } catch (error) {
      await handle.close();
      await unlink(path).catch(() => undefined);
      throw error;
    }
  }
}

export async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** A moved or deleted file still accepts writes, but its lines would be lost. */
async function assertInPlace({ path, inode }: OpenFile): Promise<void> {
  const { ino } = await stat(path);
  if (ino !== inode) throw new Error('the journal file was moved or deleted');
}

function isNoRoom(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG';
}
