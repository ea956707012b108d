import { randomBytes } from 'node:crypto';
import type { Redis } from 'ioredis';
import { runScript, type ScriptReply } from '../../platform/redis/redis-scripts.js';
import { IndexUnavailableError } from '../errors.js';
import type { JournalEntry, StorageProvider } from '../storage/storage-provider.js';
import { entryArguments } from './index-entry.js';
import { APPLY, DISOWN, LOOK_UP, PUBLISH, REBUILD } from './index-scripts.js';
import { INDEX_PREFIX, keyPart, metaKey, rebuildKey } from './keys.js';
import type { PriceSeal } from './price-seal.js';

/** Version of the index's layout; an index with another one is rebuilt. */
const FORMAT = '10';
/** Entries applied by one script. */
const CHUNK = 200;
/** Milliseconds without progress after which another process may rebuild. */
const REBUILD_LEASE_MS = 10_000;

/** How long an index of other processes is left to them, if several may build it; a deployment ends by then. */
const LEFT_ALONE_SECONDS = 300;

/** Rules of the index; the same in all processes. */
export interface IndexRules {
  /** Of prices. */
  readonly seal: PriceSeal;
  /** Older payloads of a name that are kept to be found; 0 for none. */
  readonly versions: number;
}

/** The identity of the index and its newest order. */
export interface IndexState {
  readonly generation: string;
  readonly last: number;
}

/** As Redis gives it. */
export interface MetaFields {
  readonly generation: string | null | undefined;
  readonly last: string | null | undefined;
  readonly store: string | null | undefined;
}

/** The index in Redis. Its user decides whether it can be trusted. */
export class IndexTables {
  readonly #processId = randomBytes(6).toString('hex');

  constructor(
    private readonly redis: Redis,
    private readonly rules: IndexRules,
  ) {}

  /**
   * The newest entry of a name, of any owner if none is given, with its price and takedowns and the state of the index:
   * an inconsistent index cannot be read.
   *
   * @throws IndexUnavailableError
   */
  async lookUp(
    owner: string | undefined,
    id: string,
  ): Promise<{
    readonly meta: MetaFields;
    readonly entry: string | undefined;
    readonly price: string | undefined;
    /** Of the entry's bytes, and of those that the price is of. */
    readonly takedowns: readonly string[];
  }> {
    const args = [owner === undefined ? '' : keyPart(owner), keyPart(id)];
    const reply = await this.#run(LOOK_UP, args);
    const [generation, last, store, entry, price, ...downs] = reply as readonly (string | null)[];
    const meta = { generation, last, store };
    const takedowns = downs.filter((text) => text !== null);
    return { meta, entry: entry ?? undefined, price: price ?? undefined, takedowns };
  }

  /** @throws IndexUnavailableError */
  async meta(): Promise<MetaFields> {
    try {
      const [generation, last, store] = await this.redis.hmget(
        metaKey(),
        'generation',
        'last',
        'store',
      );
      return { generation, last, store };
    } catch (error) {
      throw new IndexUnavailableError('Redis', error);
    }
  }

  /**
   * @returns whether they are applied; `false` when the index is no longer the known one.
   * @throws IndexUnavailableError when Redis did not answer: some of them may be in it.
   */
  async apply(known: IndexState, entries: readonly JournalEntry[]): Promise<boolean> {
    for (let at = 0; at < entries.length; at += CHUNK) {
      const chunk = entries.slice(at, at + CHUNK);
      const args = [known.generation, String(known.last), ...this.#arguments(chunk)];
      if ((await this.#run(APPLY, args)) !== 1) return false;
    }
    return true;
  }

  /** The identity of an index in our format, and of its data. */
  async state(): Promise<(IndexState & { readonly store: string }) | undefined> {
    const [generation, last, store] = await this.redis.hmget(
      metaKey(),
      'generation',
      'last',
      'store',
    );
    if (generation == null || !this.isOurFormat(generation) || last == null || store == null)
      return undefined;
    return { generation, last: Number(last), store };
  }

  /**
   * Builds it from the journal. One process does, with a lease.
   *
   * @returns `undefined` when another process is building it, or this one was too slow.
   */
  async makeAnew(
    storage: StorageProvider,
  ): Promise<{ readonly state: IndexState; readonly entries: number } | undefined> {
    const isTaken = await this.redis.set(
      rebuildKey(),
      this.#processId,
      'PX',
      REBUILD_LEASE_MS,
      'NX',
    );
    if (isTaken === null) return undefined;
    await this.#clear();
    const removals: JournalEntry[] = [];
    let count = 0;
    let last = 0;
    const take = async (chunk: readonly JournalEntry[]): Promise<boolean> =>
      (await this.#run(REBUILD, [this.#processId, ...this.#arguments(chunk)])) === 1;
    for await (const chunk of chunksOf(storage.entries(0))) {
      // Removals for age are applied after all prices are known.
      if (!(await take(chunk.filter((entry) => !isForAge(entry))))) return undefined;
      count += chunk.length;
      removals.push(...chunk.filter(({ op }) => op === 'remove'));
      last = chunk.reduce((greatest, { order }) => Math.max(greatest, order), last);
    }
    // With several writers, a removal may precede its payload.
    for (let at = 0; at < removals.length; at += CHUNK) {
      if (!(await take(removals.slice(at, at + CHUNK)))) return undefined;
    }
    const generation = `${this.#format}-${randomBytes(9).toString('base64url')}`;
    const args = [this.#processId, storage.storeId, generation, String(last)];
    if ((await this.#run(PUBLISH, args)) !== 1) return undefined;
    return { state: { generation, last }, entries: count };
  }

  /** With another format, another number of versions, or another price seal the index is rebuilt. */
  isOurFormat(generation: string): boolean {
    return generation.startsWith(`${this.#format}-`);
  }

  get #format(): string {
    return `${FORMAT}.${this.rules.versions}.${this.rules.seal.id}`;
  }

  /**
   * Whether processes with other settings have rebuilt it from the same data recently. During a deployment both kinds
   * run: if each rebuilt the index of the other, it would never be usable.
   */
  async isOfOthersJustNow(storeId: string): Promise<boolean> {
    const fields = ['generation', 'store', 'since'] as const;
    const [generation, store, since] = await this.redis.hmget(metaKey(), ...fields);
    if (generation == null || this.isOurFormat(generation) || store !== storeId) return false;
    const [now] = await this.redis.time();
    return Number(now) - Number(since) < LEFT_ALONE_SECONDS;
  }

  /**
   * Marks it as unusable for all processes; one of them rebuilds it. Another generation stays as it
   * is.
   *
   * @throws IndexUnavailableError
   */
  async disown(generation: string): Promise<void> {
    await this.#run(DISOWN, [generation]);
  }

  #arguments(entries: readonly JournalEntry[]): string[] {
    const { seal, versions } = this.rules;
    return [String(versions), ...entries.flatMap((entry) => entryArguments(entry, seal))];
  }

  async #clear(): Promise<void> {
    await this.redis.del(metaKey());
    let cursor = '0';
    do {
      const [next, keys] = await this.redis.scan(
        cursor,
        'MATCH',
        `${INDEX_PREFIX}*`,
        'COUNT',
        1000,
      );
      if (keys.length > 0) await this.redis.unlink(...keys);
      cursor = next;
    } while (cursor !== '0');
  }

  async #run(
    ...[script, args]: [Parameters<typeof runScript>[1], readonly string[]]
  ): Promise<ScriptReply> {
    try {
      return await runScript(this.redis, script, args);
    } catch (error) {
      throw new IndexUnavailableError(script.name, error);
    }
  }
}

function isForAge(entry: JournalEntry): boolean {
  return entry.op === 'remove' && entry.upTo !== undefined;
}

/** Entries in portions for one script. */
export async function* chunksOf(
  entries: AsyncIterable<JournalEntry>,
): AsyncGenerator<readonly JournalEntry[]> {
  let chunk: JournalEntry[] = [];
  for await (const entry of entries) {
    chunk.push(entry);
    if (chunk.length < CHUNK) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
