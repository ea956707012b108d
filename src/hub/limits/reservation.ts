import type { Headroom } from '../../platform/concurrency/headroom.js';
import type { BodyShare } from '../../platform/http/byte-budget.js';
import type { NewObject } from '../storage/storage-provider.js';
import { CROWD_RETRY_SECONDS } from '../wire/body-reader.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import type { UnderWay } from './under-way.js';

/** An upload reserves more after it has grown by this. */
const STEP_BYTES = 1_048_576;

export interface Rooms {
  readonly underWay: UnderWay;
  /** Bytes of the storage. */
  readonly disk: Headroom;
  /** Bytes of the index. */
  readonly index: Headroom;
  /** The most memory that an upload takes in the index. */
  readonly entryBytes: number;
  readonly memory: BodyShare;
  /** The part of an upload that is in memory. */
  readonly heldOf: (bytes: number) => number;
  /** @throws HubRefusal where the owner has no quota left for this many bytes. */
  readonly assertQuota: (owner: string, bytes: number) => Promise<void>;
  /** @throws HubRefusal where there are too many files for this one and the concurrent ones. */
  readonly assertCount: (object: NewObject, others: number) => Promise<void>;
}

/** The space of one upload: it grows with the upload, and is released as a whole. */
export class Reservation {
  /** Arrived and not reserved yet. */
  #pending = 0;
  #granted = 0;
  #arrived = 0;
  #held = 0;
  #isWhole = false;
  #isEnded = false;
  readonly #inUse: (() => void)[] = [];

  /** @param owner - `undefined` where it is known only at the end of the upload. */
  constructor(
    private readonly rooms: Rooms,
    private owner: string | undefined,
  ) {}

  /**
   * Room for the next bytes of the upload.
   *
   * @throws HubRefusal
   */
  async arrive(bytes: number): Promise<void> {
    this.#arrived += bytes;
    this.#hold(this.rooms.heldOf(this.#arrived));
    this.#pending += bytes;
    if (this.#pending >= STEP_BYTES) await this.#grant();
  }

  /**
   * Space for the upload as a whole. Concurrent uploads of an owner in other processes are not counted; each of them
   * can exceed the limit once.
   *
   * @param more - further bytes, whose memory is counted elsewhere.
   * @throws HubRefusal
   */
  async close(object: NewObject, more = 0): Promise<void> {
    const { underWay, index, entryBytes, assertCount } = this.rooms;
    const others = underWay.addObject();
    this.#isWhole = true;
    if (this.owner !== object.owner) {
      if (this.owner !== undefined) underWay.release(this.owner, this.#granted);
      this.owner = object.owner;
      underWay.grant(this.owner, this.#granted);
    }
    this.#pending += more;
    await this.#grant();
    await this.#take(
      index,
      entryBytes,
      'the index of the hub is nearly full, so the hub stores nothing more',
    );
    await assertCount(object, others);
  }

  /** Call it when the upload is stored, or will not be. Idempotent. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { underWay, memory } = this.rooms;
    this.#use();
    memory.release();
    if (this.owner !== undefined) underWay.release(this.owner, this.#granted);
    if (this.#isWhole) underWay.removeObject();
  }

  #hold(bytes: number): void {
    const { memory } = this.rooms;
    if (bytes < this.#held) memory.empty();
    else if (!memory.add(bytes - this.#held)) throw HubRefusal.tooMany(CROWD_RETRY_SECONDS);
    this.#held = bytes;
  }

  /** A limit that other uploads have filled is not the fault of this request, and may be free again soon. */
  async #grant(): Promise<void> {
    const { underWay, disk, assertQuota } = this.rooms;
    const bytes = this.#pending;
    this.#pending = 0;
    // Bytes reserved before are leaving memory.
    this.#use();
    await this.#take(
      disk,
      bytes,
      'the storage of the hub is nearly full, so the hub stores nothing more',
    );
    if (this.owner === undefined) {
      this.#granted += bytes;
      return;
    }
    const own = underWay.grant(this.owner, bytes);
    this.#granted += bytes;
    await assertQuota(this.owner, own);
  }

  async #take(room: Headroom, amount: number, refusal: string): Promise<void> {
    const inUse = await room.take(amount);
    if (inUse === undefined) throw HubRefusal.unavailable(refusal);
    this.#inUse.push(inUse);
  }

  #use(): void {
    for (const inUse of this.#inUse.splice(0)) inUse();
  }
}
