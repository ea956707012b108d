/**
 * The port to the storage of bytes. It hides the file system or the vendor's SDK.
 *
 * A payload lies in a *volume* of its owner, at an offset that is a multiple of 31 (payloads are
 * later packed into BLS12-377 scalars of 31 usable bytes). Its metadata is in a *journal*, from
 * which the index can be rebuilt at any time.
 */

/** A payload's name. The newest payload of a name is the one that is read. */
export interface ObjectName {
  readonly owner: string;
  readonly id: string;
}

/** A payload to be stored. */
export interface NewObject extends ObjectName {
  readonly bucket: string;
  readonly kind: string;
  /** A media type, if the uploader named one. */
  readonly contentType?: string | undefined;
}

/** Where a payload lies. No two places overlap, ever. */
export interface Place {
  readonly owner: string;
  /** Number of the volume among those of its owner. */
  readonly volume: number;
  /** Byte offset in the volume, a multiple of {@link ALIGNMENT}. */
  readonly start: number;
  /** Bytes, without padding. */
  readonly size: number;
}

/** The size and the digests of a payload's bytes. */
export interface Digest {
  /** Bytes. */
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  /** CRC-32 of each {@link BLOCK_BYTES} of the payload, 8 hex digits each, without separator. */
  readonly blocks: string;
}

/** A stored payload: an entry of the journal. */
export interface StoredObject extends NewObject, Place, Digest {
  readonly op: 'put';
  /** Microseconds since the epoch when it was stored; grows from entry to entry of one writer. */
  readonly order: number;
}

/** A name that was given up: an entry of the journal. */
interface Removal extends ObjectName {
  readonly op: 'remove';
  readonly order: number;
  /** Only payloads up to this order are given up, and no price; all that were stored before where it is absent. */
  readonly upTo?: number | undefined;
}

/** A new price of a name: an entry of the journal. */
export interface Pricing extends ObjectName {
  readonly op: 'price';
  readonly order: number;
  /** As `src/hub/sales/price.ts` writes them; empty where it costs nothing any more. */
  readonly terms: string;
  /** SHA-1 (hex) of the only terms that this takes away, with empty `terms`; a price that was set since stays. */
  readonly withdraws?: string | undefined;
}

/** A takedown of bytes, or its end: an entry of the journal. */
export interface Takedown extends ObjectName {
  readonly op: 'takedown';
  readonly order: number;
  /** Of the bytes, under whatever names; hex. The entry's own name is the one that was complained about, or empty. */
  readonly sha256: string;
  /** `up` where they were put back. */
  readonly state: 'down' | 'up';
  readonly reason: string;
  /** Id of the operator's API key. */
  readonly by: string;
}

/** For how long an owner's payloads can be found, from now on: an entry of the journal. Its id is empty. */
interface Retention extends ObjectName {
  readonly op: 'retention';
  readonly order: number;
  /** 0 for ever. */
  readonly days: number;
}

/**
 * A bucket that its owner created or removed: an entry of the journal. Its id is empty. The files of a bucket are removed one by one
 * before it.
 */
interface BucketMark extends ObjectName {
  readonly op: 'bucket';
  readonly order: number;
  readonly bucket: string;
  /** Kind of its files, fixed at creation; empty for a removal. */
  readonly kind: string;
  readonly state: 'made' | 'gone';
}

/** An entry of the journal: payloads of a name whose bytes were freed, as no entry led to them any more. */
interface Freed extends ObjectName {
  readonly op: 'freed';
  readonly order: number;
  /** By their places, which no two payloads share; several writers may give two the same order. */
  readonly payloads: readonly Omit<Place, 'owner'>[];
}

export type JournalEntry =
  StoredObject | Removal | Pricing | Takedown | Retention | BucketMark | Freed;

/** An entry without a payload, before it has its place in the order. */
export type Note =
  | Omit<Removal, 'order'>
  | Omit<Pricing, 'order'>
  | Omit<Takedown, 'order'>
  | Omit<Retention, 'order'>
  | Omit<BucketMark, 'order'>
  | Omit<Freed, 'order'>;

/** Bytes in memory, or a stream. A stream that throws stores nothing. */
export type Payload = Uint8Array | AsyncIterable<Uint8Array>;

/** Names a payload when it is whole: a form may name its owner after its file, and fail after it. */
export type Describe = () => NewObject | Promise<NewObject>;

/** Keeps the index up to date. */
export interface StorageObserver {
  /**
   * This process may store from now on. Nothing is stored before this is done; bringing the index
   * up to date may take longer.
   *
   * @param lastOrder - of the journal's newest entry; 0 when it is empty, `undefined` when it is
   *   not known.
   */
  opened(lastOrder: number | undefined): Promise<void>;
  /**
   * These are durable, in the order of the journal. The uploader is answered when this is done, and
   * gets its error.
   */
  stored(entries: readonly JournalEntry[]): Promise<void>;
}

export interface StorageProvider {
  /**
   * Takes up the work. Storing may have to wait until another process has let go. What failed may be
   * started again.
   *
   * @throws StorageUnavailableError when it is away; StartError when its settings can never work.
   */
  start(observer: StorageObserver): Promise<void>;
  stop(): Promise<void>;
  /** Identity of the data, made with it. An index with another one belongs to other data. */
  readonly storeId: string;
  /** Whether this process is to mend the index. */
  readonly isWriter: boolean;
  /** How far, in microseconds, the orders of several writers may be apart at one moment. */
  readonly orderSlack: number;
  /**
   * Resolves when the payload is durable and the observer knows it.
   *
   * @param describe - asked once, when the payload is whole. Its errors are rethrown, and nothing
   *   is stored.
   * @throws StorageUnavailableError when it cannot be stored now, or when it is not known whether
   *   it was.
   */
  put(describe: Describe, payload: Payload): Promise<StoredObject>;
  /**
   * Resolves when it is in the journal and the observer knows it.
   *
   * @throws StorageUnavailableError
   */
  note(note: Note): Promise<void>;
  /**
   * Bytes of a payload as they lie there, unchecked, in pieces of any size.
   *
   * @param from - offset in the payload.
   * @throws StorageUnavailableError when they cannot be read; a piece that is short ends the stream early.
   */
  read(place: Place, from: number, length: number): AsyncIterable<Uint8Array>;
  /**
   * Gives the bytes of payloads back to the disk; their places stay taken. Free bytes stay free.
   * They have to be given up in the journal before.
   *
   * @throws StorageUnavailableError when they could not be freed, all or some.
   */
  free(places: readonly Place[]): Promise<void>;
  /** The journal's entries with a greater order, oldest first as far as each writer goes. */
  entries(afterOrder: number): AsyncIterable<JournalEntry>;
  /** How much of an upload is in memory when so much of it has come. */
  heldOf(bytes: number): number;
  /** Writes and reads something. @throws StorageUnavailableError */
  probe(): Promise<void>;
  /** Bytes that are still free; `undefined` for storage without an end. */
  freeBytes(): Promise<number | undefined>;
}
export const StorageProvider = Symbol('StorageProvider');

export const ALIGNMENT = 31;
/** Bytes verified at a time when a payload is read; the memory one reader takes. */
export const BLOCK_BYTES = 1_048_576;
/** A volume of this size takes no further payload; the last one may go past it. */
export const VOLUME_BYTES = 31 * 1_048_576;

export function padded(size: number): number {
  return Math.ceil(size / ALIGNMENT) * ALIGNMENT;
}
