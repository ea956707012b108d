import { Inject, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Redis } from 'ioredis';
import { Shared } from '../../platform/concurrency/shared.js';
import { AppConfig } from '../../platform/config/app-config.js';
import { addressGroup } from '../../platform/rate-limit/address-group.js';
import {
  limitHeaders,
  type Rate,
  RateLimiter,
  type RateVerdict,
} from '../../platform/rate-limit/rate-limiter.js';
import { HUB_REDIS } from '../../platform/redis/redis.module.js';
import { RedisWatch } from '../../platform/redis/redis-watch.js';
import type { Caller } from '../auth/caller.js';
import { HubListing } from '../index/hub-listing.js';
import { type ObjectName, StorageProvider } from '../storage/storage-provider.js';
import { HubRefusal } from '../wire/hub-refusal.js';
import { StreamSlots } from './stream-slots.js';
import { UnderWay } from './under-way.js';

/** How many requests may come at once after a pause, in seconds' worth of the rate. */
const BURST_SECONDS = 2;
/** Of the memory Redis may use; what is above is for settlements, where the hub shares their Redis. */
const REDIS_SHARE_MAX = 0.8;
/** The file system is asked no more often. */
const FREE_KEPT_MS = 1000;

/** How much and how often. Whatever is off costs nothing. */
@Injectable()
export class HubLimits {
  readonly #streams = new StreamSlots();
  readonly #limiter: RateLimiter;
  readonly #rate: Rate | undefined;
  readonly #underWay = new UnderWay();
  readonly #redis: RedisWatch;
  readonly #freeBytes: Shared<number | undefined>;

  constructor(
    private readonly config: AppConfig,
    private readonly listing: HubListing,
    @Inject(HUB_REDIS) redis: Redis,
    @Inject(StorageProvider) storage: StorageProvider,
  ) {
    const { ratePerSecond } = config.hub;
    this.#limiter = new RateLimiter(redis, 'hub');
    this.#rate =
      ratePerSecond === undefined
        ? undefined
        : { requests: ratePerSecond, seconds: 1, burst: ratePerSecond * BURST_SECONDS };
    this.#redis = new RedisWatch([redis], () => undefined);
    this.#freeBytes = new Shared(() => storage.freeBytes(), FREE_KEPT_MS);
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
   * A place among the long answers under way.
   *
   * @returns gives it back.
   * @throws HubRefusal when there is none.
   */
  takeStream(request: Request): () => void {
    return this.#streams.take(addressGroup(request.ip));
  }

  /**
   * Sets room aside for an upload. Of an owner's quota all counts that was stored and is not freed. Uploads under way in other processes are not seen; each of them can go over by itself.
   *
   * @returns gives it back; to be called when the payload is stored, or not to be.
   * @throws HubRefusal when there is none.
   */
  async reserve(name: ObjectName, bytes: number): Promise<() => void> {
    const before = this.#underWay.begin(name.owner, bytes);
    try {
      await this.#assertRoom(bytes + before.bytes);
      await this.#assertCount(name, before.objects);
      await this.#assertQuota(name.owner, bytes + before.ownBytes);
      return before.end;
    } catch (error) {
      before.end();
      throw error;
    }
  }

  /** What is full by others' doing is no fault of this request, and may be mended any time. */
  async #assertRoom(bytes: number): Promise<void> {
    const { minFreeBytes } = this.config.hub;
    const free = minFreeBytes === undefined ? undefined : await this.#freeBytes.get();
    if (minFreeBytes !== undefined && free !== undefined && free - bytes < minFreeBytes) {
      throw HubRefusal.unavailable('the storage is nearly full; nothing more is taken');
    }
    // That it does not answer is said by the index, which is asked next.
    const setUp = await this.#redis.setUp().catch(() => undefined);
    const { usedMemoryBytes = 0, maxMemoryBytes = 0 } = setUp ?? {};
    if (maxMemoryBytes > 0 && usedMemoryBytes > maxMemoryBytes * REDIS_SHARE_MAX) {
      throw HubRefusal.unavailable('the index is nearly full; nothing more is taken');
    }
  }

  async #assertCount(name: ObjectName, underWay: number): Promise<void> {
    const { maxObjects } = this.config.hub;
    if (maxObjects === undefined) return;
    const { objects, isKnown } = await this.listing.fill(name);
    if (!isKnown && objects + underWay >= maxObjects) {
      throw HubRefusal.forbidden(`the hub is full: it keeps ${maxObjects} files`);
    }
  }

  /** Of uploads under way at once the earlier ones go first. */
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
