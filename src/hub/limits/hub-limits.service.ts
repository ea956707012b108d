import { Inject, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Redis } from 'ioredis';
import { Headroom } from '../../platform/concurrency/headroom.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { BodyShare, LONG_BODIES } from '../../platform/http/byte-budget.js';
import { whenOver } from '../../platform/http/response-end.js';
import { addressGroup, customerGroup } from '../../platform/rate-limit/address-group.js';
import {
  limitHeaders,
  type Rate,
  RateLimiter,
  type RateVerdict,
} from '../../platform/rate-limit/rate-limiter.js';
import { HUB_REDIS } from '../../platform/redis/redis.module.js';
import { RedisRoom } from '../../platform/redis/redis-room.js';
import type { Caller } from '../auth/caller.js';
import { HubListing } from '../index/hub-listing.js';
import { type ObjectName, StorageProvider } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { Reservation } from './reservation.js';
import { UnderWay } from './under-way.js';

/** How many requests may come at once after a pause, in seconds' worth of the rate. */
const BURST_SECONDS = 2;
/** The file system is asked no more often. */
const MEASURE_KEPT_MS = 1000;
/** What an upload takes of Redis at most, and what an older version of it does. */
const ENTRY_BYTES = 4096;
const VERSION_BYTES = 2048;
/** And a note on links that were taken back. */
const NOTE_BYTES = 512;

/** How much and how often. Whatever is off costs nothing. */
@Injectable()
export class HubLimits {
  readonly #streams = new StreamSlots();
  readonly #limiter: RateLimiter;
  readonly #rate: Rate | undefined;
  readonly #underWay = new UnderWay();
  readonly #index: Headroom;
  readonly #disk: Headroom;

  constructor(
    private readonly config: AppConfig,
    private readonly listing: HubListing,
    @Inject(HUB_REDIS) redis: Redis,
    @Inject(StorageProvider) private readonly storage: StorageProvider,
  ) {
    const { ratePerSecond, minFreeBytes } = config.hub;
    this.#limiter = new RateLimiter(redis, 'hub');
    this.#rate =
      ratePerSecond === undefined
        ? undefined
        : { requests: ratePerSecond, seconds: 1, burst: ratePerSecond * BURST_SECONDS };
    this.#index = new RedisRoom(redis);
    this.#disk = new Headroom(async () => {
      const free = minFreeBytes === undefined ? undefined : await storage.freeBytes();
      return free === undefined ? undefined : free - (minFreeBytes ?? 0);
    }, MEASURE_KEPT_MS);
  }

  /** @throws HubRefusal when the caller's address asks too often. */
  async takeAddress(request: Request, response: Response): Promise<void> {
    if (this.#rate === undefined) return;
    note(response, await this.#limiter.take(`ip:${addressGroup(request.ip)}`, this.#rate));
  }

  /**
   * Only who has signed is counted by name: else anybody could use up an owner's rate.
   *
   * @throws HubRefusal when the signer asks too often, from whatever addresses.
   */
  async takeSigner({ signer }: Caller, response: Response): Promise<void> {
    if (this.#rate === undefined || signer === undefined) return;
    note(response, await this.#limiter.take(`signer:${signer}`, this.#rate));
  }

  /**
   * A place among the long answers under way, until this one is read or its client has gone.
   *
   * @returns gives it back before that.
   * @throws HubRefusal when all places are taken.
   */
  takeStream(request: Request, response: Response): () => void {
    const release = this.#streams.take(customerGroup(request.ip));
    whenOver(response, release);
    return release;
  }

  /**
   * Begins an upload. Of an owner's quota all counts that was stored and is not freed.
   *
   * @param owner - where it is known before the upload is whole.
   * @returns to be ended when the payload is stored, or will not be.
   */
  begin(owner?: string): Reservation {
    const { versions } = this.config.hub;
    return new Reservation(
      {
        underWay: this.#underWay,
        disk: this.#disk,
        index: this.#index,
        entryBytes: ENTRY_BYTES + (versions > 0 ? VERSION_BYTES : 0),
        memory: new BodyShare(LONG_BODIES),
        heldOf: (bytes) => this.storage.heldOf(bytes),
        assertQuota: (whose, bytes) => this.#assertQuota(whose, bytes),
        assertCount: (object, others) => this.#assertCount(object, others),
      },
      owner,
    );
  }

  /**
   * Room in the index for a note of an owner. Anyone with a key can be an owner, so only owners
   * with stored files may add notes when the index is nearly full: their files bound the notes.
   *
   * @throws HubRefusal where the index is full.
   */
  async takeNote(owner: string): Promise<void> {
    const inUse = await this.#index.take(NOTE_BYTES);
    if (inUse === undefined && (await this.listing.usageOf(owner)).bytes === 0) {
      throw HubRefusal.unavailable('the index is nearly full');
    }
    inUse?.();
  }

  /**
   * Reserves room of the index for a new bucket. It counts like a file.
   *
   * @returns releases the room; to be called at the end of the request.
   * @throws HubRefusal where the index or the hub is full.
   */
  async beginBucket(owner: string): Promise<() => void> {
    const others = this.#underWay.addObject();
    const inUse = await this.#index.take(ENTRY_BYTES);
    const end = (): void => {
      inUse?.();
      this.#underWay.removeObject();
    };
    try {
      if (inUse === undefined) {
        throw HubRefusal.unavailable('the index is nearly full; nothing more is taken');
      }
      // No file has the empty id.
      await this.#assertCount({ owner, id: '' }, others);
    } catch (error) {
      end();
      throw error;
    }
    return end;
  }

  async #assertCount(name: ObjectName, underWay: number): Promise<void> {
    const { maxObjects } = this.config.hub;
    if (maxObjects === undefined) return;
    const { objects, isKnown } = await this.listing.fill(name);
    if (!isKnown && objects + underWay >= maxObjects) {
      throw HubRefusal.forbidden(`the hub is full: it keeps ${maxObjects} files`);
    }
  }

  async #assertQuota(owner: string, bytes: number): Promise<void> {
    const { quotaBytes } = this.config.hub;
    if (quotaBytes === undefined) return;
    const { bytes: stored } = await this.listing.usageOf(owner);
    if (stored + bytes > quotaBytes) {
      throw HubRefusal.forbidden(`quota exceeded: ${stored} of ${quotaBytes} bytes are used`);
    }
  }
}

/** Says where the caller stands (draft-ietf-httpapi-ratelimit-headers), whether it may go on or not. */
function note(response: Response, verdict: RateVerdict): void {
  for (const [name, value] of Object.entries(limitHeaders(verdict))) {
    response.setHeader(name, value);
  }
  if (!verdict.isAllowed) throw HubRefusal.tooMany(verdict.retryAfterSeconds);
}

/**
 * Long answers under way at once. Each keeps a verified block of a payload in memory, two or three of
 * them with what is on its way to the client, for as long as the client takes to read it.
 */
const ALL_MAX = 128;
/** Of one address, IPv6 by /56, so that slow readers do not block others. */
const ADDRESS_MAX = 32;
const RETRY_AFTER_SECONDS = 2;

/** Counts the long answers under way; it holds no more than there are. */
export class StreamSlots {
  readonly #byAddress = new Map<string, number>();
  #all = 0;

  get taken(): number {
    return this.#all;
  }

  /**
   * @param address - of the reader, by the group it belongs to.
   * @returns gives the place back, once.
   * @throws HubRefusal when too many are under way.
   */
  take(address: string): () => void {
    const own = this.#byAddress.get(address) ?? 0;
    if (own >= ADDRESS_MAX) throw HubRefusal.tooMany(RETRY_AFTER_SECONDS);
    if (this.#all >= ALL_MAX) throw HubRefusal.unavailable('too many downloads; try again');
    this.#all += 1;
    this.#byAddress.set(address, own + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#all -= 1;
      const left = (this.#byAddress.get(address) ?? 0) - 1;
      if (left > 0) this.#byAddress.set(address, left);
      else this.#byAddress.delete(address);
    };
  }
}
