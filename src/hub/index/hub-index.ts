import type { Redis } from 'ioredis';
import type { PinoLogger } from 'nestjs-pino';
import { delay } from '../../platform/concurrency/timing.js';
import { whileStarting } from '../../platform/redis/while-starting.js';
import { IndexUnavailableError, StorageUnavailableError } from '../errors.js';
import type { StorageOpening } from '../storage/storage-opening.js';
import type {
  JournalEntry,
  ObjectName,
  StorageObserver,
  StorageProvider,
  StoredObject,
  Takedown,
} from '../storage/storage-provider.js';
import { objectOf, takedownOf } from './index-entry.js';
import {
  chunksOf,
  type IndexRules,
  type IndexState,
  IndexTables,
  type MetaFields,
} from './index-tables.js';

/** Interval of index checks without requests. */
const WATCH_MS = 1000;
const RETRY_MS = 500;
/** How long an upload waits for an index under repair; its payload is durable already. */
const REPAIR_DELAY_MS = 5000;

/** The payload behind a name. */
export interface NamedObject {
  readonly object: StoredObject;
  /** The price, as `src/hub/sales/price.ts` writes it; `undefined` where it is free. */
  readonly terms: string | undefined;
  /** Takedowns of its bytes, and of those that its price is of. */
  readonly takedowns: readonly Takedown[];
}

/**
 * The index in Redis, kept consistent with the storage's journal. It may be lost, set back or belong to other data at
 * any time. Every request and a check each second notice that, and the index is repaired from the journal. Until then
 * no file is reported as missing.
 */
export class HubIndex implements StorageObserver {
  readonly #tables: IndexTables;
  #known: IndexState | undefined;
  #repairing: Promise<void> | undefined;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #opening: StorageOpening | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly logger: Pick<PinoLogger, 'info' | 'warn' | 'error'>,
    private readonly rules: IndexRules,
  ) {
    this.#tables = new IndexTables(redis, rules);
  }

  /** Opens the storage with this index as observer, perhaps later. */
  async start(opening: StorageOpening): Promise<void> {
    this.#opening = opening;
    await opening.begin(this);
    this.#timer = setInterval(() => {
      // The check repairs the index itself; requests report an outage of Redis.
      this.check().catch(() => undefined);
    }, WATCH_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#opening?.stop();
    await this.#storage?.stop();
    await this.#repairing;
  }

  /** Whether the storage is open: before that the index is neither used nor repaired. */
  get isOpen(): boolean {
    return this.#opening?.isOpen === true;
  }

  get #storage(): StorageProvider | undefined {
    return this.#opening?.storage;
  }

  async opened(lastOrder: number | undefined): Promise<void> {
    const meta = await whileStarting('HUB_REDIS_URL', () => this.#tables.state());
    const isOurs = meta !== undefined && meta.store === this.#storage?.storeId;
    if (isOurs && (lastOrder ?? meta.last) === meta.last) {
      this.#known = meta;
      return;
    }
    this.#repair(lastOrder);
    // A short journal is indexed before the first request; a long one is not awaited.
    await this.#repairedInTime();
  }

  async stored(entries: readonly JournalEntry[]): Promise<void> {
    if (!(await this.#repairedInTime()))
      throw new IndexUnavailableError('the index is being rebuilt');
    const known = this.#known;
    try {
      if (known !== undefined && (await this.#apply(known, entries))) return;
      this.#logMissing('the index was replaced');
    } catch (error) {
      // It is unknown whether Redis has applied them; they are in the journal and will be applied from there.
      this.#logFailed(error);
    }
    this.#repair();
    throw new IndexUnavailableError('the index is being rebuilt');
  }

  /**
   * The newest payload of a name, of any owner if none is given, with its price.
   *
   * @throws IndexUnavailableError when the index cannot be trusted now.
   */
  async lookUp(owner: string | undefined, id: string): Promise<NamedObject | undefined> {
    this.assertSound();
    const known = this.#known;
    const { meta, entry, price, takedowns } = await this.#tables.lookUp(owner, id);
    this.#compare(meta, known);
    if (entry === undefined) return undefined;
    const object = objectOf(entry);
    const terms = await this.termsIn(object, price);
    return { object, terms, takedowns: takedowns.map(takedownOf) };
  }

  /**
   * The terms in a price row, `undefined` without a price. A row that this service did not write makes the index be
   * rebuilt from the journal.
   *
   * @throws IndexUnavailableError
   */
  async termsIn(name: ObjectName, row: string | null | undefined): Promise<string | undefined> {
    const terms = row == null ? '' : this.rules.seal.termsIn(name, row);
    if (terms !== undefined) return terms === '' ? undefined : terms;
    const why = 'a price in the index was changed by another program';
    await this.#tables.disown(this.#known?.generation ?? '');
    this.#logMissing(why);
    if (this.#storage?.isWriter === true) this.#repair();
    throw new IndexUnavailableError(why);
  }

  /** Runs a query of several steps; its result counts only if the index was consistent throughout. */
  async query<T>(read: (redis: Redis) => Promise<T>): Promise<T> {
    await this.check();
    const before = this.#known?.generation;
    let result: T;
    try {
      result = await read(this.redis);
    } catch (error) {
      throw new IndexUnavailableError('Redis', error);
    }
    await this.check();
    if (this.#known?.generation !== before)
      throw new IndexUnavailableError('the index was rebuilt during the request');
    return result;
  }

  /** @throws IndexUnavailableError */
  async check(): Promise<void> {
    this.assertSound();
    const known = this.#known;
    this.#compare(await this.#tables.meta(), known);
  }

  /**
   * Uses known state only.
   *
   * @throws StorageUnavailableError while the storage's identity is unknown; IndexUnavailableError during a repair
   *   here.
   */
  assertSound(): void {
    if (!this.isOpen) throw new StorageUnavailableError('start');
    if (this.#repairing !== undefined)
      throw new IndexUnavailableError('the index is being rebuilt');
  }

  /**
   * Accepts an index that another process has advanced, and repairs an inconsistent one.
   *
   * @param known - the known state when the request was sent; the answer cannot be older.
   */
  #compare(meta: MetaFields, known: IndexState | undefined): void {
    const why = this.#problemOf(meta, known);
    if (why === undefined) {
      this.#note({ generation: meta.generation ?? '', last: Number(meta.last) });
      return;
    }
    if (this.#storage?.isWriter === true) {
      this.#logMissing(why);
      this.#repair();
    }
    throw new IndexUnavailableError(why);
  }

  #problemOf(
    { generation, last, store }: MetaFields,
    known: IndexState | undefined,
  ): string | undefined {
    if (generation == null) return 'the index is missing';
    if (!this.#tables.isOurFormat(generation)) return 'the index has another format';
    if (store !== this.#storage?.storeId) return 'the index belongs to another storage';
    const isSetBack = known?.generation === generation && Number(last) < known.last;
    return isSetBack ? 'the index is older than the storage' : undefined;
  }

  #note({ generation, last }: IndexState): void {
    const before = this.#known?.generation === generation ? this.#known.last : 0;
    this.#known = { generation, last: Math.max(before, last) };
  }

  /**
   * @returns whether they are applied; `false` when the index is no longer the known one.
   * @throws IndexUnavailableError when Redis did not answer: some of them may be applied.
   */
  async #apply(known: IndexState, entries: readonly JournalEntry[]): Promise<boolean> {
    if (!(await this.#tables.apply(known, entries))) return false;
    const last = entries.reduce((greatest, { order }) => Math.max(greatest, order), known.last);
    if (this.#known?.generation === known.generation) {
      this.#note({ generation: known.generation, last });
    }
    return true;
  }

  async #repairedInTime(): Promise<boolean> {
    const repaired = this.#repairing?.then(() => true);
    if (repaired === undefined) return true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => {
        resolve(false);
      }, REPAIR_DELAY_MS);
    });
    const isRepaired = await Promise.race([repaired, late]);
    clearTimeout(timer);
    return isRepaired;
  }

  /** @param lastOrder - of the journal, where the caller knows it. */
  #repair(lastOrder?: number): void {
    this.#repairing ??= this.#repairUntilDone(lastOrder).finally(() => {
      this.#repairing = undefined;
    });
  }

  #logMissing(why: string): void {
    this.logger.warn({ why }, 'the hub index is unusable and is being rebuilt');
  }

  #logFailed(error: unknown): void {
    this.logger.error({ err: error }, 'could not rebuild the hub index; retrying');
  }

  #logRepaired(how: 'caught up' | 'made anew', entries: number): void {
    this.logger.info({ how, entries }, 'the hub index is up to date');
  }

  async #repairUntilDone(lastOrder: number | undefined): Promise<void> {
    while (!this.#isStopped) {
      try {
        if (await this.#repairOnce(lastOrder)) return;
      } catch (error) {
        this.#logFailed(error);
      }
      await delay(RETRY_MS);
    }
  }

  /** @returns whether the index is consistent now. */
  async #repairOnce(lastOrder: number | undefined): Promise<boolean> {
    const storage = this.#storage;
    if (storage === undefined) return false;
    const meta = await this.#tables.state();
    // An index ahead of the journal refers to payloads that do not exist.
    const isAhead = lastOrder !== undefined && (meta?.last ?? 0) > lastOrder;
    if (meta?.store !== storage.storeId || isAhead) {
      const isShared = storage.orderSlack > 0;
      if (isShared && (await this.#tables.isOfOthersJustNow(storage.storeId))) return false;
      const made = await this.#tables.makeAnew(storage);
      if (made === undefined) return false;
      this.#known = made.state;
      this.#logRepaired('made anew', made.entries);
      return true;
    }
    this.#known = meta;
    let count = 0;
    for await (const chunk of chunksOf(storage.entries(meta.last - storage.orderSlack))) {
      if (!(await this.#apply(this.#known, chunk))) return false;
      count += chunk.length;
    }
    this.#logRepaired('caught up', count);
    return true;
  }
}
