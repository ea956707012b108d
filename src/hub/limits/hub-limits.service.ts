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
import { OWNERS_SHARE_MAX, RedisRoom } from '../../platform/redis/redis-room.js';
import type { Caller } from '../auth/caller.js';
import { HubListing } from '../index/hub-listing.js';
import { type ObjectName, StorageProvider } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { Reservation } from './reservation.js';
import { UnderWay } from './under-way.js';

/** Burst after a pause, in seconds of the rate. */
const BURST_SECONDS = 2;
/** Interval of measurements of the file system. */
const MEASURE_KEPT_MS = 1000;
/** Maximum of Redis memory for an upload, and for an older version. */
const ENTRY_BYTES = 4096;
const VERSION_BYTES = 2048;
/** The same for a note on revoked links, and for a nonce. */
const NOTE_BYTES = 512;

/** Limits of sizes and rates. A limit that is off costs nothing. */
@Injectable()
export class HubLimits {
  readonly #streams = new StreamSlots();
  readonly #limiter: RateLimiter;
  readonly #rate: Rate | undefined;
  readonly #underWay = new UnderWay();
  readonly #index: Headroom;
  /** Of the index, for notes of owners with files. */
  readonly #owners: Headroom;
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
    this.#owners = new RedisRoom(redis, OWNERS_SHARE_MAX);
    this.#disk = new Headroom(async () => {
      const free = minFreeBytes === undefined ? undefined : await storage.freeBytes();
      return free === undefined ? undefined : free - (minFreeBytes ?? 0);
    }, MEASURE_KEPT_MS);
  }

  /** @throws HubRefusal when the caller's address exceeds its rate. */
  async takeAddress(request: Request, response: Response): Promise<void> {
    if (this.#rate === undefined) return;
    note(response, await this.#limiter.take(`ip:${addressGroup(request.ip)}`, this.#rate));
  }

  /**
   * Only signers are counted by name; otherwise anybody could use up an owner's rate.
   *
   * @throws HubRefusal when the signer exceeds its rate, from all addresses together.
   */
  async takeSigner({ signer }: Caller, response: Response): Promise<void> {
    if (this.#rate === undefined || signer === undefined) return;
    note(response, await this.#limiter.take(`signer:${signer}`, this.#rate));
  }

  /**
   * A place among the long answers in progress, until this one is read or its client has gone.
   *
   * @returns releases it earlier.
   * @throws HubRefusal when all places are taken.
   */
  takeStream(request: Request, response: Response): () => void {
    const release = this.#streams.take(customerGroup(request.ip));
    whenOver(response, release);
    return release;
  }

  /**
   * Begins an upload. An owner's quota counts everything that was stored and is not freed.
   *
   * @param owner - where it is known before the upload is complete.
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
   * Space in the index for a note of an owner. Anyone with a key can be an owner, so only owners with stored files may
   * add notes when the index of the hub is nearly full, up to a share of their own: a file costs little.
   *
   * @throws HubRefusal where the index is full.
   */
  async takeNote(owner: string): Promise<void> {
    if (await this.#index.use(NOTE_BYTES)) return;
    const hasFiles = (await this.listing.usageOf(owner)).bytes > 0;
    if (hasFiles && (await this.#owners.use(NOTE_BYTES))) return;
    throw HubRefusal.unavailable('the index of the hub is nearly full');
  }

  /**
   * Space for the record of a sale, which has to be there before its payment is settled.
   *
   * @throws HubRefusal where Redis is nearly full.
   */
  async takeSale(bytes: number): Promise<void> {
    if (await this.#index.use(bytes)) return;
    throw HubRefusal.unavailable('the index is nearly full; nothing is sold now');
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
        throw HubRefusal.unavailable(
          'the index of the hub is nearly full, so the hub stores nothing more',
        );
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
      throw HubRefusal.forbidden(`the hub is full: it has its maximum of ${maxObjects} files`);
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

/** Sends the caller's rate (draft-ietf-httpapi-ratelimit-headers), also with a refusal. */
function note(response: Response, verdict: RateVerdict): void {
  for (const [name, value] of Object.entries(limitHeaders(verdict))) {
    response.setHeader(name, value);
  }
  if (!verdict.isAllowed) throw HubRefusal.tooMany(verdict.retryAfterSeconds);
}

/**
 * Long answers in progress at once. Each keeps two or three verified blocks of a payload in memory for as long as the
 * client takes to read it.
 */
const ALL_MAX = 128;
/** Limit for one address, IPv6 by /56, so that slow readers do not block others. */
const ADDRESS_MAX = 32;
const RETRY_AFTER_SECONDS = 2;

/** Counts the long answers in progress. */
export class StreamSlots {
  readonly #byAddress = new Map<string, number>();
  #all = 0;

  get taken(): number {
    return this.#all;
  }

  /**
   * @param address - of the reader, by the group it belongs to.
   * @returns gives the place back, once.
   * @throws HubRefusal when too many are in progress.
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
