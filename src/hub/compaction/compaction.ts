import { hash, randomBytes } from 'node:crypto';
import type {
  JournalEntry,
  ObjectName,
  Place,
  StorageProvider,
} from '../storage/storage-provider.js';
import { type CompactionRules, NameHistory, type StoredPlace } from './name-history.js';

/** Facts remembered at a time: some 25 MB at the most. */
const REMEMBERED_MOST = 50_000;
/** Payloads freed by one turn: the next one goes on. */
const FREED_MOST = 10_000;
/** Payloads that are freed together, and stand in one entry of the journal. */
const AT_ONCE = 100;
/** Names whose bytes cannot be freed: where there are more, the storage itself is away. */
const STUCK_MOST = 10;
/** Parts that the names are looked at in: for 200 million facts. */
const PARTS_MOST = 4096;

/** Entries about no single name. */
const OF_NO_NAME: ReadonlySet<JournalEntry['op']> = new Set(['retention', 'takedown', 'bucket']);

/** What a turn has done. */
interface CompactionTurn {
  readonly payloads: number;
  readonly bytes: number;
  /** Whether every name was looked at since the last time this was true. */
  readonly isRound: boolean;
}

/** The answer of the index about bytes that the journal released. */
interface SecondOpinion {
  /**
   * Orders of the payloads that a name, its versions or its price lead to now.
   *
   * @throws IndexUnavailableError: then nothing is freed.
   */
  readonly found: (name: ObjectName) => Promise<ReadonlySet<number>>;
  /** Told of a name that has bytes which the index finds and the journal has given up. */
  readonly kept: (name: ObjectName) => void;
}

export type CompactableStorage = Pick<StorageProvider, 'entries' | 'note' | 'free' | 'orderSlack'>;

/**
 * Frees bytes that are unreferenced and not needed any more. The journal decides, because the index
 * can be lost, set back or changed by others, and freed bytes do not come back. The index can only
 * object: bytes that can be found now are kept. A turn reads the journal once and looks at as many
 * names as it can remember; the following turns look at the others.
 */
export class Compaction {
  /** Secret, so that no one can choose names that all fall into one part. */
  readonly #salt = randomBytes(16).toString('hex');
  #parts = 1;
  #part = 0;
  #isStopped = false;

  constructor(
    private readonly storage: CompactableStorage,
    private readonly index: SecondOpinion,
  ) {}

  /** Ends the turn that is under way at its next step. What it has not done is left to another process. */
  stop(): void {
    this.#isStopped = true;
  }

  /** @throws StorageUnavailableError, IndexUnavailableError: what is not done yet is done by the next turn. */
  async turn(rules: Omit<CompactionRules, 'slack'>): Promise<CompactionTurn> {
    const histories = await this.#read();
    if (histories === undefined) return { payloads: 0, bytes: 0, isRound: false };
    let payloads = 0;
    let bytes = 0;
    const stuck: unknown[] = [];
    for (const history of histories) {
      for (const some of chunksOf(await this.#deadOf(history, rules))) {
        if (this.#isStopped) return { payloads, bytes, isRound: false };
        try {
          await this.storage.free(some);
        } catch (error) {
          // One that lies badly must not keep all others from being freed.
          stuck.push(error);
          break;
        }
        // Behind the bytes: what is not noted is freed again, which does nothing. The other way round it would stay.
        await this.#noteFreed(history, some);
        payloads += some.length;
        bytes += sizeOf(some);
      }
      if (stuck.length >= STUCK_MOST) break;
      if (payloads >= FREED_MOST) return { payloads, bytes, isRound: false };
    }
    this.#part = (this.#part + 1) % this.#parts;
    if (stuck.length > 0) throw stuck[0];
    return { payloads, bytes, isRound: this.#part === 0 };
  }

  /** @returns `undefined` where it was stopped, or there was too much to remember: the next turn looks at fewer names. */
  async #read(): Promise<readonly NameHistory[] | undefined> {
    const histories = new Map<string, NameHistory>();
    let remembered = 0;
    for await (const entry of this.storage.entries(0)) {
      if (this.#isStopped) return undefined;
      if (OF_NO_NAME.has(entry.op)) continue;
      const key = this.#keyOf(entry);
      if (key === undefined) continue;
      const history = histories.get(key) ?? new NameHistory({ owner: entry.owner, id: entry.id });
      histories.set(key, history);
      remembered += history.note(entry);
      if (remembered <= REMEMBERED_MOST) continue;
      // Half of the part comes now, the other half when its turn is. Every part has one, whatever it holds.
      if (this.#parts < PARTS_MOST) this.#parts *= 2;
      else this.#part = (this.#part + 1) % this.#parts;
      return undefined;
    }
    return [...histories.values()];
  }

  /** `undefined` for a name that is not looked at now. */
  #keyOf({ owner, id }: JournalEntry): string | undefined {
    const digest = hash('sha256', `${this.#salt}${owner.length}:${owner}${id}`, 'hex');
    return Number.parseInt(digest.slice(0, 8), 16) % this.#parts === this.#part
      ? digest.slice(8)
      : undefined;
  }

  async #deadOf(
    history: NameHistory,
    given: Omit<CompactionRules, 'slack'>,
  ): Promise<readonly StoredPlace[]> {
    const rules = { ...given, slack: this.storage.orderSlack };
    const upTo = history.newestFallen(rules);
    // Its grace begins again with that: the bytes go with a later turn.
    if (upTo !== undefined) await this.storage.note({ op: 'remove', ...history.name, upTo });
    return this.#unfound(history, history.dead(rules));
  }

  /** Where clocks of several writers differ, a name may have been written behind what the journal calls its removal. */
  async #unfound(
    { name }: NameHistory,
    dead: readonly StoredPlace[],
  ): Promise<readonly StoredPlace[]> {
    if (dead.length === 0) return dead;
    const found = await this.index.found(name);
    const unfound = dead.filter(({ order }) => !found.has(order));
    if (unfound.length < dead.length) this.index.kept(name);
    return unfound;
  }

  async #noteFreed({ name }: NameHistory, places: readonly StoredPlace[]): Promise<void> {
    const payloads = places.map(({ volume, start, size }) => ({ volume, start, size }));
    await this.storage.note({ op: 'freed', ...name, payloads });
  }
}

function* chunksOf(places: readonly StoredPlace[]): Generator<readonly StoredPlace[]> {
  for (let at = 0; at < places.length; at += AT_ONCE) yield places.slice(at, at + AT_ONCE);
}

function sizeOf(places: readonly Place[]): number {
  return places.reduce((sum, { size }) => sum + size, 0);
}
