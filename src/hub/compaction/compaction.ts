import { hash, randomBytes } from 'node:crypto';
import type {
  JournalEntry,
  ObjectName,
  Place,
  StorageProvider,
} from '../storage/storage-provider.js';
import { type CompactionRules, NameHistory, type StoredPlace } from './name-history.js';

/** Limit of facts in memory: some 25 MB. */
const REMEMBERED_MOST = 50_000;
/** Payloads freed by one turn; the next turn continues. */
const FREED_MOST = 10_000;
/** Payloads that are freed together, in one entry of the journal. */
const AT_ONCE = 100;
/** Names whose bytes cannot be freed; above this number the storage itself has failed. */
const STUCK_MOST = 10;
/** Parts into which names are divided: enough for 200 million facts. */
const PARTS_MOST = 4096;

/** Entries that belong to no single name. */
const OF_NO_NAME: ReadonlySet<JournalEntry['op']> = new Set(['retention', 'takedown', 'bucket']);

/** The result of a turn. */
interface CompactionTurn {
  readonly payloads: number;
  readonly bytes: number;
  /** Whether every name was checked since the last complete round. */
  readonly isRound: boolean;
}

/** The index's objection to bytes that the journal released. */
interface SecondOpinion {
  /**
   * Orders of the payloads that a name, its versions or its price refer to now.
   *
   * @throws IndexUnavailableError: then nothing is freed.
   */
  readonly found: (name: ObjectName) => Promise<ReadonlySet<number>>;
  /** Called for a name with bytes that the index finds and the journal released. */
  readonly kept: (name: ObjectName) => void;
}

export type CompactableStorage = Pick<StorageProvider, 'entries' | 'note' | 'free' | 'orderSlack'>;

/**
 * Frees unreferenced bytes that are no longer needed. The journal decides, because the index can be lost, set back or
 * changed by others, and freed bytes do not come back. The index can only object: bytes that it finds now are kept. A
 * turn reads the journal once and checks as many names as fit in memory; later turns check the others.
 */
export class Compaction {
  /** Secret, so that nothing outside can choose names that all fall into one part. */
  readonly #salt = randomBytes(16).toString('hex');
  #parts = 1;
  #part = 0;
  #isStopped = false;

  constructor(
    private readonly storage: CompactableStorage,
    private readonly index: SecondOpinion,
  ) {}

  /** Ends the present turn at its next step. Another process does the rest. */
  stop(): void {
    this.#isStopped = true;
  }

  /** @throws StorageUnavailableError, IndexUnavailableError: the next turn does the rest. */
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
          // One failing name must not keep the others from being freed.
          stuck.push(error);
          break;
        }
        // After the bytes: an unrecorded payload is freed again, which has no effect. In the other order its bytes
        // would stay.
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

  /** @returns `undefined` where it was stopped, or there was too much to remember: the next turn checks fewer names. */
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
      // This turn checks half of the part, and a later turn the other half.
      if (this.#parts < PARTS_MOST) this.#parts *= 2;
      else this.#part = (this.#part + 1) % this.#parts;
      return undefined;
    }
    return [...histories.values()];
  }

  /** `undefined` for a name that this turn does not check. */
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
    // This restarts its grace time, so a later turn frees the bytes.
    if (upTo !== undefined) await this.storage.note({ op: 'remove', ...history.name, upTo });
    return this.#unfound(history, history.dead(rules));
  }

  /**
   * If clocks of several writers differ, a name may have been written after the entry that the journal considers its
   * removal.
   */
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
