import { randomBytes, randomUUID } from 'node:crypto';
import type { S3Config } from '../../../platform/config/hub-settings.js';
import { StartError } from '../../../protocol/errors.js';
import { StorageUnavailableError } from '../../errors.js';
import { bufferOrStream } from '../buffer-or-stream.js';
import { type Commit, GroupCommit, type JournalWriter } from '../group-commit.js';
import { entryOf, lineOf } from '../journal-line.js';
import { digestOf, PayloadDigest } from '../payload-digest.js';
import { StorageClock } from '../storage-clock.js';
import type {
  Describe,
  JournalEntry,
  Note,
  Payload,
  Place,
  StorageObserver,
  StorageProvider,
  StoredObject,
} from '../storage-provider.js';
import { PART_BYTES, S3Objects } from './s3-objects.js';
import { IGNORES_CONDITIONS, s3StartProblem } from './s3-start-problem.js';
import { payloadKey, S3Volumes } from './s3-volumes.js';

export interface S3StorageOptions {
  readonly s3: S3Config;
  readonly hubAddress: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const ORDER_DIGITS = 16;
/** Journal objects read at once when an index is rebuilt. */
const READ_AHEAD = 16;
const HOUR_IN_MICROSECONDS = 3_600_000_000;

/**
 * Objects in a bucket, for any number of processes:
 *
 * ```
 * store-id                              identity of the data
 * volumes/<owner>/<n>/claim             whose volume it is
 * volumes/<owner>/<n>/<start>           a payload
 * journal/<order>-<process>.log         what a batch has stored
 * staging/<id>                          a long upload that is not whole yet
 * probe/<process>                       whether the bucket can be used now
 * ```
 *
 * Nothing is ever written over: every object is made with `If-None-Match: *`.
 */
export class S3Storage implements StorageProvider {
  /** Any process may mend the index; they take turns. */
  readonly isWriter = true;
  /** The writers are processes of several machines, whose clocks may differ by this much. */
  readonly orderSlack = HOUR_IN_MICROSECONDS;
  readonly #processId = randomBytes(6).toString('hex');
  readonly #objects: S3Objects;
  readonly #clock: StorageClock;
  #storeId = '';
  #writer: GroupCommit | undefined;

  constructor(private readonly options: S3StorageOptions) {
    this.#objects = new S3Objects(options.s3, this.#processId);
    this.#clock = new StorageClock(options.now);
  }

  get storeId(): string {
    return this.#storeId;
  }

  async start(observer: StorageObserver): Promise<void> {
    try {
      this.#storeId = await this.#identity();
    } catch (error) {
      const problem = s3StartProblem(error);
      throw problem === undefined ? error : new StartError(problem, error);
    }
    await observer.opened(undefined);
    const volumes = new S3Volumes(this.#objects, this.options.hubAddress);
    this.#writer = new GroupCommit(volumes, this.#journal(), this.#clock, observer);
  }

  /** @throws StartError where what follows could not be relied on. */
  async #identity(): Promise<string> {
    if (!(await this.#objects.honoursConditions(`probe/${this.#processId}-conditional`)))
      throw new StartError(IGNORES_CONDITIONS);
    await this.#objects.create('store-id', randomUUID());
    const storeId = await this.#objects.text('store-id');
    if (storeId === undefined) throw new StorageUnavailableError('read store-id');
    return storeId;
  }

  async stop(): Promise<void> {
    await this.#writer?.idle();
    this.#objects.close();
  }

  async put(describe: Describe, payload: Payload): Promise<StoredObject> {
    const commit = await this.#prepared(describe, payload);
    const entry = await this.#commit(commit);
    if (entry.op === 'put') return entry;
    throw new StorageUnavailableError('put');
  }

  async note(note: Note): Promise<void> {
    await this.#commit({ kind: 'note', note });
  }

  read(place: Place, from: number, length: number): AsyncIterable<Uint8Array> {
    return this.#objects.bytes(payloadKey(place), from, length);
  }

  /** Each payload is an object. The claim of its volume stays, and with it the number. */
  async free(places: readonly Place[]): Promise<void> {
    for (const place of places) await this.#objects.remove(payloadKey(place));
  }

  async *entries(afterOrder: number): AsyncGenerator<JournalEntry> {
    const startAfter = `journal/${orderText(Math.max(0, afterOrder))}`;
    for await (const { keys } of this.#objects.list('journal/', { startAfter })) {
      for (let at = 0; at < keys.length; at += READ_AHEAD) {
        const some = keys.slice(at, at + READ_AHEAD);
        const texts = await Promise.all(some.map((key) => this.#objects.text(key)));
        for (const line of texts.flatMap((text) => text?.split('\n') ?? [])) {
          const entry = entryOf(line);
          if (entry !== undefined && entry.order > afterOrder) yield entry;
        }
      }
    }
  }

  /** Of a long one a part is gathered at a time. */
  heldOf(bytes: number): number {
    return Math.min(bytes, PART_BYTES);
  }

  async probe(): Promise<void> {
    const text = randomUUID();
    const key = `probe/${this.#processId}`;
    await this.#objects.put(key, text);
    if ((await this.#objects.text(key)) !== text) throw new StorageUnavailableError('probe');
  }

  freeBytes(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async #prepared(describe: Describe, payload: Payload): Promise<Commit> {
    const upload = await bufferOrStream(payload, PART_BYTES);
    if (upload.isShort) {
      const { bytes } = upload;
      return { kind: 'bytes', object: await describe(), payload: bytes, digest: digestOf(bytes) };
    }
    const ref = `staging/${randomUUID()}`;
    const digest = new PayloadDigest();
    await this.#objects.upload(ref, digested(upload.pieces, digest));
    try {
      return { kind: 'file', object: await describe(), spooled: { ref, digest: digest.finish() } };
    } catch (error) {
      await this.#objects.remove(ref);
      throw error;
    }
  }

  #commit(commit: Commit): Promise<JournalEntry> {
    if (this.#writer === undefined) throw new StorageUnavailableError('start');
    return this.#writer.commit(commit);
  }

  #journal(): JournalWriter {
    return {
      append: async (entries) => {
        const [first] = entries;
        if (first === undefined) return;
        const key = `journal/${orderText(first.order)}-${this.#processId}.log`;
        const isMade = await this.#objects.create(key, entries.map(lineOf).join(''));
        if (!isMade) throw new StorageUnavailableError('journal: the object exists already');
      },
    };
  }
}

function orderText(order: number): string {
  return String(order).padStart(ORDER_DIGITS, '0');
}

async function* digested(
  pieces: AsyncIterable<Uint8Array>,
  digest: PayloadDigest,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    digest.update(piece);
    yield piece;
  }
}
