import type { JournalEntry, ObjectName, Place } from '../storage/storage-provider.js';

/** A payload with the time it was stored. */
export interface StoredPlace extends Place {
  readonly order: number;
}

/** When the bytes of a payload may be freed; all times in microseconds. */
export interface CompactionRules {
  /** Older payloads of a name that can be read. */
  readonly versions: number;
  /** Time from becoming unreferenced until the bytes are freed, for answers in progress. */
  readonly grace: number;
  /** The same for a name that had a price: a buyer may return for this long. */
  readonly soldGrace: number;
  /** How far the clocks of several writers may differ. */
  readonly slack: number;
  readonly now: number;
}

/** Limit of remembered facts of one name; above it the bytes of the name stay. */
const FACTS_MOST = 10_000;

/** The journal's entries about one name, which decide which of its bytes may still be needed. */
export class NameHistory {
  readonly #puts: StoredPlace[] = [];
  readonly #removals: { readonly order: number; readonly upTo: number | undefined }[] = [];
  /** By place. */
  readonly #freed = new Set<string>();
  readonly #prices: { readonly order: number; readonly isEnd: boolean }[] = [];
  #facts = 0;

  constructor(readonly name: ObjectName) {}

  /** @returns the number of further remembered facts. */
  note(entry: JournalEntry): number {
    if (this.#facts > FACTS_MOST) return 0;
    const more = this.#remember(entry);
    this.#facts += more;
    if (this.#facts <= FACTS_MOST) return more;
    for (const facts of [this.#puts, this.#removals, this.#prices]) facts.length = 0;
    this.#freed.clear();
    return more - this.#facts;
  }

  #remember(entry: JournalEntry): number {
    switch (entry.op) {
      case 'put': {
        const { order, owner, volume, start, size } = entry;
        this.#puts.push({ order, owner, volume, start, size });
        return 1;
      }
      case 'remove':
        this.#removals.push({ order: entry.order, upTo: entry.upTo });
        return 1;
      case 'freed':
        for (const place of entry.payloads) this.#freed.add(placeIn(place));
        return entry.payloads.length;
      case 'price':
        // A conditional removal may have had no effect, so it does not end the price.
        this.#prices.push({
          order: entry.order,
          isEnd: entry.terms === '' && entry.withdraws === undefined,
        });
        return 1;
      case 'takedown':
      case 'retention':
      case 'bucket':
        return 0;
    }
  }

  /**
   * Stored payloads that are unreferenced and no longer needed. Payloads in doubt are left out, because freed bytes do
   * not come back.
   */
  dead(rules: CompactionRules): readonly StoredPlace[] {
    return this.#unfreed().filter(({ order }) => {
      const since = this.#givenUpAt(order, rules.slack);
      return since !== undefined && this.#isOver(since, rules);
    });
  }

  /**
   * The newest payload that has had enough newer ones for long enough to be no version, unless it was removed. It has
   * to be removed before its bytes are freed: if more versions are kept one day, it must not be one of them.
   */
  newestFallen(rules: CompactionRules): number | undefined {
    const { versions, slack } = rules;
    // Two writers may store at one moment: the index refers to one of the payloads, and neither has replaced the other.
    const orders = [...new Set(this.#puts.map(({ order }) => order))].sort((a, b) => a - b);
    // The newest is not a version, and each version has one more newer payload.
    const fallen = orders.filter((order, index) => {
      const pushedOutBy = orders[index + versions + 1];
      return (
        pushedOutBy !== undefined &&
        this.#isOver(pushedOutBy, rules) &&
        this.#givenUpAt(order, slack) === undefined
      );
    });
    return fallen.at(-1);
  }

  #unfreed(): readonly StoredPlace[] {
    return this.#puts.filter((put) => !this.#freed.has(placeIn(put)));
  }

  /** @param since - when it became unreferenced. */
  #isOver(since: number, { grace, soldGrace, slack, now }: CompactionRules): boolean {
    // The sold bytes are those at the time of the price, also if the name was removed and written again meanwhile.
    if (this.#prices.length === 0) return since + slack + grace <= now;
    const soldUntil = this.#soldUntil();
    return soldUntil !== undefined && Math.max(since, soldUntil) + slack + soldGrace <= now;
  }

  /** When the last price of the name ended; `undefined` where it may still be valid. */
  #soldUntil(): number | undefined {
    const last = Math.max(...this.#prices.map(({ order }) => order));
    if (this.#prices.some(({ order, isEnd }) => order === last && isEnd)) return last;
    const dropped = this.#removals.filter(({ order, upTo }) => upTo === undefined && order > last);
    return dropped.length === 0 ? undefined : Math.min(...dropped.map(({ order }) => order));
  }

  /** The first removal that applied to a payload; see `apply` in `index-scripts.ts`, which removes at least as much. */
  #givenUpAt(order: number, slack: number): number | undefined {
    const orders = this.#removals
      .filter((removal) => removal.order > order && this.#isMeant(removal, order, slack))
      .map((removal) => removal.order);
    return orders.length === 0 ? undefined : Math.min(...orders);
  }

  /** A removal up to an order spares the newest payload of a name with a price. */
  #isMeant(
    { order: at, upTo }: { readonly order: number; readonly upTo: number | undefined },
    order: number,
    slack: number,
  ): boolean {
    if (upTo === undefined) return true;
    if (order > upTo) return false;
    const wasOlder = this.#puts.some((put) => put.order > upTo && put.order < at - slack);
    return wasOlder || this.#prices.length === 0;
  }
}

/** Among those of one owner. */
function placeIn({ volume, start }: Omit<Place, 'owner'>): string {
  return `${volume}:${start}`;
}
