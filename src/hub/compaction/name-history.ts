import type { JournalEntry, ObjectName, Place } from '../storage/storage-provider.js';

/** A payload, and when it was stored. */
export interface StoredPlace extends Place {
  readonly order: number;
}

/** When the bytes of a payload may go; all times in microseconds. */
export interface CompactionRules {
  /** Older payloads of a name that can be read. */
  readonly versions: number;
  /** From when a payload is unreferenced until its bytes are freed: answers under way need them. */
  readonly grace: number;
  /** The same for a name that had a price: who has paid may come back for as long. */
  readonly soldGrace: number;
  /** How far orders of several writers may be apart at one moment. */
  readonly slack: number;
  readonly now: number;
}

/** More is not remembered of one name, however often it is written: its bytes stay. */
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

  /** @returns how many facts more are remembered. */
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
        // One that is taken away on a condition may stand: it is no end.
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
   * Payloads that are stored, but unreferenced and not needed any more. Payloads in doubt are left
   * out: freed bytes do not come back.
   */
  dead(rules: CompactionRules): readonly StoredPlace[] {
    return this.#unfreed().filter(({ order }) => {
      const since = this.#givenUpAt(order, rules.slack);
      return since !== undefined && this.#isOver(since, rules);
    });
  }

  /**
   * The newest payload that has had so many newer ones for so long that it is no version any more, unless it was given up
   * already. It has to be given up before its bytes go: where more versions are kept one day, it must not be one of them.
   */
  newestFallen(rules: CompactionRules): number | undefined {
    const { versions, slack } = rules;
    // Two writers may store at one moment: the index leads to one of these, and neither has pushed the other out.
    const orders = [...new Set(this.#puts.map(({ order }) => order))].sort((a, b) => a - b);
    // The newest is no version, and each version has one newer payload more.
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
    // The sold bytes are those the price was set on, also when the name was removed and written
    // again meanwhile.
    if (this.#prices.length === 0) return since + slack + grace <= now;
    const soldUntil = this.#soldUntil();
    return soldUntil !== undefined && Math.max(since, soldUntil) + slack + soldGrace <= now;
  }

  /** When the last price of the name came to its end; `undefined` where it may stand. */
  #soldUntil(): number | undefined {
    const last = Math.max(...this.#prices.map(({ order }) => order));
    if (this.#prices.some(({ order, isEnd }) => order === last && isEnd)) return last;
    const dropped = this.#removals.filter(({ order, upTo }) => upTo === undefined && order > last);
    return dropped.length === 0 ? undefined : Math.min(...dropped.map(({ order }) => order));
  }

  /** The first removal that was meant for a payload; see `apply` in `index-scripts.ts`, which this must never go beyond. */
  #givenUpAt(order: number, slack: number): number | undefined {
    const orders = this.#removals
      .filter((removal) => removal.order > order && this.#isMeant(removal, order, slack))
      .map((removal) => removal.order);
    return orders.length === 0 ? undefined : Math.min(...orders);
  }

  /** A removal up to an order spares the newest payload of a name that has a price. */
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
