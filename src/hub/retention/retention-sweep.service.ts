import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { HUB_REDIS } from '../../platform/redis/redis.module.js';
import { HubService } from '../hub.service.js';
import { HubListing } from '../index/hub-listing.js';
import { sweepKey } from '../index/keys.js';

const SWEEP_MS = 60_000;
/** One process at a time; another one takes over when it has died. */
const LEASE_MS = 50_000;

/** Searches once a minute for files that are older than their owners' retention. */
@Injectable()
export class RetentionSweep implements OnModuleInit, OnApplicationShutdown {
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(
    private readonly hub: HubService,
    private readonly listing: HubListing,
    @Inject(HUB_REDIS) private readonly redis: Redis,
    private readonly logger: PinoLogger,
  ) {}

  onModuleInit(): void {
    this.#timer = setInterval(() => {
      this.#sweeping = this.#sweep();
    }, SWEEP_MS);
    this.#timer.unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    try {
      const isMine = await this.redis.set(sweepKey(), '1', 'PX', LEASE_MS, 'NX');
      if (isMine === null) return;
      const count = await sweepOnce(this.hub, this.listing, Date.now());
      if (count > 0)
        this.logger.info(
          { count },
          'deleted files that are older than the retention their owner set',
        );
    } catch (error) {
      this.logger.warn({ err: error }, 'could not search for expired files; retrying in a minute');
    }
  }
}

const DAY_MS = 86_400_000;
/** Files that are checked together. */
const AT_ONCE = 100;
/** Removed by one sweep; the next one continues. */
const SWEEP_MOST = 10_000;

/**
 * Removes files that are older than their owners' retention. A file with a price stays until the price is removed.
 *
 * @param now - milliseconds since the epoch.
 * @returns the number of removed files.
 * @throws StorageUnavailableError, IndexUnavailableError: the next sweep continues.
 */
export async function sweepOnce(
  hub: Pick<HubService, 'expire'>,
  listing: Pick<HubListing, 'retentions' | 'olderThan'>,
  now: number,
): Promise<number> {
  let count = 0;
  for (const { owner, days } of await listing.retentions()) {
    const before = (now - days * DAY_MS) * 1000;
    let kept = 0;
    for (;;) {
      const page = { offset: kept, length: AT_ONCE };
      const found = await listing.olderThan(owner, before, page);
      for (const object of found) {
        if (object === undefined) {
          kept += 1;
          continue;
        }
        await hub.expire(object);
        count += 1;
        if (count >= SWEEP_MOST) return count;
      }
      if (found.length < AT_ONCE) break;
    }
  }
  return count;
}
