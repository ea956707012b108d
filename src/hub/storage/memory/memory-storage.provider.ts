import { randomUUID } from 'node:crypto';
import { StorageUnavailableError } from '../../errors.js';
import { bufferOrStream } from '../buffer-or-stream.js';
import { firstVolumeOf } from '../owner-folder.js';
import { digestOf } from '../payload-digest.js';
import { StorageClock } from '../storage-clock.js';
import {
  type Describe,
  type JournalEntry,
  type Note,
  padded,
  type Payload,
  type Place,
  type StorageObserver,
  type StorageProvider,
  type StoredObject,
  VOLUME_BYTES,
} from '../storage-provider.js';

/** Keeps everything in this process, and loses it with it. For trying out and for tests. */
export class MemoryStorage implements StorageProvider {
  readonly storeId = randomUUID();
  readonly isWriter = true;
  readonly orderSlack = 0;
  readonly #clock: StorageClock;
  readonly #journal: JournalEntry[] = [];
  readonly #payloads = new Map<string, Uint8Array>();
  readonly #ends = new Map<string, { readonly volume: number; readonly end: number }>();
  #observer: StorageObserver | undefined;

  constructor(
    private readonly hubAddress: string,
    now: () => number,
  ) {
    this.#clock = new StorageClock(now);
  }

  async start(observer: StorageObserver): Promise<void> {
    this.#observer = observer;
    await observer.opened(this.#clock.last);
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  async put(describe: Describe, payload: Payload): Promise<StoredObject> {
    const upload = await bufferOrStream(payload, Infinity);
    if (!upload.isShort) throw new StorageUnavailableError('put');
    const bytes = Buffer.from(upload.bytes);
    const object = await describe();
    const digest = digestOf(bytes);
    const place = this.#place(object.owner, digest.size);
    const entry: StoredObject = {
      op: 'put',
      order: this.#clock.next(),
      ...object,
      ...place,
      ...digest,
    };
    this.#payloads.set(keyOf(entry), bytes);
    await this.#record(entry);
    return entry;
  }

  async note(note: Note): Promise<void> {
    await this.#record({ order: this.#clock.next(), ...note });
  }

  async *read(place: Place, from: number, length: number): AsyncGenerator<Uint8Array> {
    const bytes = this.#payloads.get(keyOf(place));
    if (bytes !== undefined) yield await Promise.resolve(bytes.subarray(from, from + length));
  }

  free(places: readonly Place[]): Promise<void> {
    for (const place of places) this.#payloads.delete(keyOf(place));
    return Promise.resolve();
  }

  async *entries(afterOrder: number): AsyncGenerator<JournalEntry> {
    yield* await Promise.resolve(this.#journal.filter(({ order }) => order > afterOrder));
  }

  /** Memory is its disk: what owners may store is the bound. */
  heldOf(): number {
    return 0;
  }

  probe(): Promise<void> {
    return Promise.resolve();
  }

  freeBytes(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  #place(owner: string, size: number): Place {
    const known = this.#ends.get(owner) ?? {
      volume: firstVolumeOf(this.hubAddress, owner),
      end: 0,
    };
    const { volume, end: start } =
      known.end < VOLUME_BYTES ? known : { volume: known.volume + 1, end: 0 };
    this.#ends.set(owner, { volume, end: start + padded(size) });
    return { owner, volume, start, size };
  }

  async #record(entry: JournalEntry): Promise<void> {
    this.#journal.push(entry);
    await this.#observer?.stored([entry]);
  }
}

function keyOf({ owner, volume, start }: Place): string {
  return `${volume}/${start}/${owner}`;
}
