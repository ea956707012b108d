import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, type FileHandle, mkdir, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { WalletStorageError } from '../wallet-error.js';
import { JournalEvent, JournalLine } from './journal-record.js';

const FIRST = '0'.repeat(64);
const SUFFIX = '.jsonl';

interface Waiting {
  readonly line: string;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

interface JournalFile {
  readonly handle: FileHandle;
  readonly path: string;
  readonly inode: number;
}

/**
 * The record of every decision, and what Redis is restored from. Append-only files, one per process
 * and start, in a folder all wallet processes share; a line is on disk before its write resolves.
 * Lines that arrive together share one fsync.
 */
export class Journal {
  #file: Promise<JournalFile> | undefined;
  #last = FIRST;
  #waiting: Waiting[] = [];
  #isWriting = false;
  #failure: Error | undefined;

  constructor(private readonly dir: string) {}

  /** @throws WalletStorageError when the folder cannot be written to. */
  async open(): Promise<void> {
    try {
      await mkdir(this.dir, { recursive: true, mode: 0o700 });
      await access(this.dir, constants.R_OK | constants.W_OK);
    } catch (error) {
      throw new WalletStorageError('WALLET_AUDIT_DIR', error);
    }
  }

  /**
   * @throws WalletStorageError when it may not be on disk. After that nothing can be appended any
   *   more: a file with an unknown end is not written on.
   */
  append(event: JournalEvent): Promise<void> {
    const line = this.#lineOf(event);
    return new Promise((done, failed) => {
      this.#waiting.push({ line, done, failed });
      if (!this.#isWriting) void this.#write();
    });
  }

  /**
   * All events of all files, file by file. A line cut off at the very end of a file was never
   * confirmed and is left out.
   *
   * @throws WalletStorageError when a file cannot be read or was tampered with.
   */
  async *events(): AsyncGenerator<JournalEvent> {
    for (const name of await this.#fileNames()) yield* this.#eventsOf(name);
  }

  /** Whether it can be written on, as far as can be told without writing. */
  async isWritable(): Promise<boolean> {
    if (this.#failure !== undefined) return false;
    try {
      await access(this.dir, constants.R_OK | constants.W_OK);
      if (this.#file !== undefined) await assertInPlace(await this.#file);
      return true;
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    const file = await this.#file?.catch(() => undefined);
    await file?.handle.close();
  }

  #lineOf(event: JournalEvent): string {
    const line = JSON.stringify({ v: 1, prev: this.#last, record: event });
    this.#last = sha256(line);
    return line;
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#failure !== undefined) throw this.#failure;
        const file = await (this.#file ??= this.#create());
        await assertInPlace(file);
        await file.handle.appendFile(batch.map(({ line }) => `${line}\n`).join(''));
        await file.handle.datasync();
        for (const { done } of batch) done();
      } catch (error) {
        this.#failure = error instanceof Error ? error : new Error('unknown failure');
        for (const { failed } of batch) failed(new WalletStorageError('WALLET_AUDIT_DIR', error));
      }
    }
    this.#isWriting = false;
  }

  /** Names sort by time; the file's own name is durable before its first line is. */
  async #create(): Promise<JournalFile> {
    const stamp = new Date().toISOString().replaceAll(/[:.]/g, '-');
    const path = join(this.dir, `${stamp}-${randomBytes(4).toString('hex')}${SUFFIX}`);
    const handle = await open(path, 'ax', 0o600);
    const folder = await open(this.dir, 'r');
    await folder.sync();
    await folder.close();
    const { ino: inode } = await handle.stat();
    return { handle, path, inode };
  }

  async #fileNames(): Promise<string[]> {
    try {
      return (await readdir(this.dir)).filter((name) => name.endsWith(SUFFIX)).sort();
    } catch (error) {
      throw new WalletStorageError('WALLET_AUDIT_DIR', error);
    }
  }

  async *#eventsOf(name: string): AsyncGenerator<JournalEvent> {
    let previous = FIRST;
    const file = await open(join(this.dir, name), 'r');
    try {
      let cutOff: unknown;
      for await (const line of file.readLines()) {
        if (cutOff !== undefined) throw new WalletStorageError('WALLET_AUDIT_DIR', cutOff);
        try {
          yield readLine(line, previous);
        } catch (error) {
          cutOff = error;
        }
        previous = sha256(line);
      }
    } finally {
      await file.close();
    }
  }
}

/** A file that was moved or deleted takes lines without a word, and nobody would find them again. */
async function assertInPlace({ path, inode }: JournalFile): Promise<void> {
  const { ino } = await stat(path);
  if (ino !== inode) throw new Error('the journal is not where it was');
}

function readLine(line: string, previous: string): JournalEvent {
  const { prev, record } = JournalLine.parse(JSON.parse(line));
  if (prev !== previous) throw new Error('a line of the journal does not follow the one before');
  return JournalEvent.parse(record);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
