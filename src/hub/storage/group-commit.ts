import { delay } from '../../platform/concurrency/timing.js';
import { StorageUnavailableError } from '../errors.js';
import type { StorageClock } from './storage-clock.js';
import {
  type Digest,
  type JournalEntry,
  type NewObject,
  type Note,
  type Place,
  type StorageObserver,
  type StoredObject,
} from './storage-provider.js';

/** A payload that was too long to be kept in memory: durable, but not part of any volume yet. */
export interface SpooledPayload {
  /** Where the storage has put it. */
  readonly ref: string;
  readonly digest: Digest;
}

/** A payload and the place it goes to. */
export interface PlacedPayload {
  readonly place: Place;
  readonly payload: Uint8Array;
}

/** The volumes of all owners, as one writer sees them. A place is given once. */
export interface VolumeWriter {
  /** The place of a payload behind all others of its owner. */
  allocate(owner: string, size: number): Promise<Place>;
  /** Makes a spooled payload the only one of its owner's next volume. */
  adopt(owner: string, ref: string, size: number): Promise<Place>;
  /** Resolves when all payloads are durable at their places. */
  write(items: readonly PlacedPayload[]): Promise<void>;
  /** Gives up what it knows of these owners' volumes, after a write of theirs failed. */
  forgetAll(owners: readonly string[]): Promise<void>;
  /** Keeps what it remembers bounded. Not while a place that was given is not written yet. */
  trim(): Promise<void>;
}

export interface JournalWriter {
  /** Resolves when the entries are durable. When it throws, none of them is in the journal. */
  append(entries: readonly JournalEntry[]): Promise<void>;
}

/** One thing to be made durable. */
export type Commit =
  | {
      readonly kind: 'bytes';
      readonly object: NewObject;
      readonly payload: Uint8Array;
      readonly digest: Digest;
    }
  | { readonly kind: 'file'; readonly object: NewObject; readonly spooled: SpooledPayload }
  | { readonly kind: 'note'; readonly note: Note };

interface Waiting {
  readonly commit: Commit;
  readonly resolve: (entry: JournalEntry) => void;
  readonly reject: (error: unknown) => void;
}

/** Beyond this a batch only makes the first ones in it wait. */
const BATCH_MAX_ITEMS = 256;
const BATCH_MAX_BYTES = 16 * 1_048_576;

/**
 * Makes durable whatever is there, together: while one batch is on its way to the disk the next one
 * gathers, so that the price of a sync is shared by as many as there are. First the payloads, then the
 * journal that says what they are, then the index.
 */
export class GroupCommit {
  readonly #waiting: Waiting[] = [];
  #isRunning = false;
  /** The index gets batches in the order of the journal, while the disk is busy with the next. */
  #indexing: Promise<void> = Promise.resolve();

  constructor(
    private readonly volumes: VolumeWriter,
    private readonly journal: JournalWriter,
    private readonly clock: StorageClock,
    private readonly observer: StorageObserver,
  ) {}

  /** @throws StorageUnavailableError, or what the observer threw. */
  commit(commit: Commit): Promise<JournalEntry> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ commit, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#isRunning) await delay(5);
    await this.#indexing;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      try {
        const entries = await this.#store(batch.map(({ commit }) => commit));
        this.#indexing = this.#indexing.then(() => this.#index(batch, entries));
      } catch (error) {
        await this.#fail(batch, new StorageUnavailableError('commit', error));
      }
    }
    this.#isRunning = false;
  }

  #nextBatch(): Waiting[] {
    let bytes = 0;
    const fits = this.#waiting.findIndex(({ commit }, index) => {
      bytes += commit.kind === 'bytes' ? commit.payload.length : 0;
      return index > 0 && (index >= BATCH_MAX_ITEMS || bytes > BATCH_MAX_BYTES);
    });
    return this.#waiting.splice(0, fits === -1 ? this.#waiting.length : fits);
  }

  async #store(commits: readonly Commit[]): Promise<JournalEntry[]> {
    const entries: JournalEntry[] = [];
    const written: PlacedPayload[] = [];
    for (const commit of commits) {
      if (commit.kind === 'note') {
        entries.push({ order: this.clock.next(), ...commit.note });
        continue;
      }
      const { owner } = commit.object;
      if (commit.kind === 'bytes') {
        const place = await this.volumes.allocate(owner, commit.digest.size);
        written.push({ place, payload: commit.payload });
        entries.push(this.#entry(commit.object, place, commit.digest));
      } else {
        const { ref, digest } = commit.spooled;
        const place = await this.volumes.adopt(owner, ref, digest.size);
        entries.push(this.#entry(commit.object, place, digest));
      }
    }
    await this.volumes.write(written);
    await this.journal.append(entries);
    await this.volumes.trim();
    return entries;
  }

  #entry(object: NewObject, place: Place, digest: Digest): StoredObject {
    return { op: 'put', order: this.clock.next(), ...object, ...place, ...digest };
  }

  async #index(batch: readonly Waiting[], entries: readonly JournalEntry[]): Promise<void> {
    try {
      await this.observer.stored(entries);
      batch.forEach(({ resolve }, index) => {
        const entry = entries[index];
        if (entry !== undefined) resolve(entry);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }

  async #fail(batch: readonly Waiting[], error: StorageUnavailableError): Promise<void> {
    const owners = batch.flatMap(({ commit }) =>
      commit.kind === 'note' ? [] : [commit.object.owner],
    );
    try {
      await this.volumes.forgetAll(owners);
    } catch {
      // A file that cannot be closed is dropped all the same.
    }
    for (const { reject } of batch) reject(error);
  }
}
