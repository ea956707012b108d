import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig } from '../../platform/config/app-config.js';
import { HUB_REDIS } from '../../platform/redis/redis.module.js';
import { HubStats } from '../hub-stats.js';
import { HubIndex } from '../index/hub-index.js';
import { HubListing } from '../index/hub-listing.js';
import { compactionKey } from '../index/keys.js';
import { priceOf } from '../sales/price.js';
import { type ObjectName, StorageProvider } from '../storage/storage-provider.js';
import { Compaction } from './compaction.js';

const MICROS = 1_000_000;
/** The longest access that can be sold, and a day for wrong clocks. */
const SOLD_SECONDS = 366 * 86_400;
/** Pause after every name was checked; until then turns follow each other. */
const ROUND_MS = 3_600_000;
const TURN_MS = 60_000;
const LEAST_MS = 1000;

/** Frees unreferenced bytes: in the process that writes (fs), or in one process at a time (s3). */
@Injectable()
export class CompactionTurns implements OnModuleInit, OnApplicationShutdown {
  readonly #compaction: Compaction;
  readonly #afterSeconds: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #turning: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(
    private readonly config: AppConfig,
    @Inject(StorageProvider) private readonly storage: StorageProvider,
    @Inject(HUB_REDIS) private readonly redis: Redis,
    private readonly index: HubIndex,
    private readonly listing: HubListing,
    private readonly stats: HubStats,
    private readonly logger: PinoLogger,
  ) {
    this.#compaction = new Compaction(storage, {
      found: (name) => this.#found(name),
      kept: ({ owner, id }) => {
        logger.warn(
          { owner, file: id },
          'the hub journal released bytes that are still referenced; the hub keeps the bytes',
        );
      },
    });
    this.#afterSeconds = config.hub.compactAfterSeconds;
  }

  onModuleInit(): void {
    if (this.#afterSeconds !== undefined) this.#wait(this.#within(TURN_MS));
  }

  async onApplicationShutdown(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    this.#compaction.stop();
    await this.#turning;
  }

  async #found(name: ObjectName): Promise<ReadonlySet<number>> {
    const [versions, named] = await Promise.all([
      this.listing.versions(name),
      this.index.lookUp(name.owner, name.id),
    ]);
    const sold = named?.terms === undefined ? [] : [priceOf(named.terms, name).object];
    return new Set([...versions, ...sold].map(({ order }) => order));
  }

  #wait(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#turning = this.#turn();
    }, ms);
    this.#timer.unref();
  }

  /** A shorter delay for freed bytes means more frequent searches. */
  #within(ms: number): number {
    return Math.max(LEAST_MS, Math.min(ms, ((this.#afterSeconds ?? 0) * 1000) / 2));
  }

  async #turn(): Promise<void> {
    let isRound = false;
    try {
      isRound = (await this.#isOurs()) ? await this.#compact() : true;
    } catch (error) {
      this.logger.warn({ err: error }, 'could not free unreferenced bytes of the hub; retrying');
    }
    this.#wait(this.#within(isRound ? ROUND_MS : TURN_MS));
  }

  /** Several possible writers take turns, because two at once would do the same work. */
  async #isOurs(): Promise<boolean> {
    if (!this.index.isOpen || !this.storage.isWriter) return false;
    if (this.storage.orderSlack === 0) return true;
    const lease = Math.floor(this.#within(TURN_MS));
    return (await this.redis.set(compactionKey(), '1', 'PX', lease, 'NX')) !== null;
  }

  async #compact(): Promise<boolean> {
    const grace = (this.#afterSeconds ?? 0) * MICROS;
    const { payloads, bytes, isRound } = await this.#compaction.turn({
      versions: this.config.hub.versions,
      now: Date.now() * 1000,
      grace,
      soldGrace: grace + SOLD_SECONDS * MICROS,
    });
    this.stats.noteFreed(bytes);
    if (payloads > 0) {
      this.logger.info({ payloads, bytes }, 'freed unreferenced bytes of the hub');
    }
    return isRound;
  }
}
