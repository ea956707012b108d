import { createReadStream } from 'node:fs';
import { type FileHandle, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JournalWriter } from '../group-commit.js';
import { entryOf, lineOf } from '../journal-line.js';
import type { JournalEntry } from '../storage-provider.js';
import { openDurable, syncFolder } from './durable.js';

/** A segment of this size is not continued; short enough to be read in full when a writer begins. */
const SEGMENT_BYTES = 16 * 1_048_576;
const ORDER_DIGITS = 16;
const NEWLINE = 0x0a;

/** The end of the journal, as a writer finds it when it begins. */
interface JournalTail {
  readonly lastOrder: number;
  /** Sound entries of the newest segment that has any, oldest first. */
  readonly entries: readonly JournalEntry[];
  /** Bytes of a torn last line that were cut off. */
  readonly tornBytes: number;
}

/**
 * Append-only segments, each named after the order of its first entry. A line is on disk before its
 * payload counts as stored, and after the payload itself.
 */
export class Journal implements JournalWriter {
  #file: FileHandle | undefined;
  #length = 0;

  constructor(private readonly dir: string) {}

  /** Makes it ready for appending: finds the newest entry and cuts off what a crash has torn. */
  async openForAppend(): Promise<JournalTail> {
    const names = await this.#segments();
    let tornBytes = 0;
    for (const name of names.toReversed()) {
      const path = join(this.dir, name);
      const bytes = await readFile(path);
      const soundLength = bytes.lastIndexOf(NEWLINE) + 1;
      if (name === names.at(-1)) {
        tornBytes = bytes.length - soundLength;
        this.#file = await openDurable(path);
        this.#length = soundLength;
        if (tornBytes > 0) await this.#cutBack();
      }
      const entries = soundEntries(bytes.toString('utf8', 0, soundLength));
      const lastOrder = entries.at(-1)?.order;
      if (lastOrder !== undefined) return { lastOrder, entries, tornBytes };
    }
    return { lastOrder: 0, entries: [], tornBytes };
  }

  async append(entries: readonly JournalEntry[]): Promise<void> {
    const [first] = entries;
    if (first === undefined) return;
    if (this.#file === undefined || this.#length >= SEGMENT_BYTES) await this.#roll(first.order);
    const file = this.#file;
    if (file === undefined) throw new Error('the hub journal is not open');
    const lines = Buffer.from(entries.map(lineOf).join(''));
    try {
      await writeAll(file, lines, this.#length);
    } catch (error) {
      await this.#cutBack();
      throw error;
    }
    this.#length += lines.length;
  }

  async *entries(afterOrder: number): AsyncGenerator<JournalEntry> {
    const names = await this.#segments();
    const firstOrders = names.map((name) => Number.parseInt(name, 10));
    const begin = firstOrders.findLastIndex((order) => order <= afterOrder);
    for (const name of names.slice(Math.max(0, begin))) {
      for await (const line of linesOf(join(this.dir, name))) {
        const entry = entryOf(line);
        if (entry !== undefined && entry.order > afterOrder) yield entry;
      }
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #roll(firstOrder: number): Promise<void> {
    await this.#file?.close();
    const name = `${String(firstOrder).padStart(ORDER_DIGITS, '0')}.log`;
    this.#file = await openDurable(join(this.dir, name));
    this.#length = 0;
    await syncFolder(this.dir);
  }

  async #cutBack(): Promise<void> {
    await this.#file?.truncate(this.#length);
    await this.#file?.sync();
  }

  async #segments(): Promise<string[]> {
    const names = await readdir(this.dir);
    return names.filter((name) => /^\d{16}\.log$/.test(name)).sort();
  }
}

function soundEntries(text: string): JournalEntry[] {
  return text
    .split('\n')
    .map(entryOf)
    .filter((entry) => entry !== undefined);
}

/** A last line without an end is a write under way, or a torn one, and is left out. */
async function* linesOf(path: string): AsyncGenerator<string> {
  let rest = '';
  const pieces: AsyncIterable<string> = createReadStream(path, { encoding: 'utf8' });
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

/** At its place, whole: a write may take less than it was given. */
export async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await file.write(
      bytes,
      written,
      bytes.length - written,
      position + written,
    );
    written += bytesWritten;
  }
}
