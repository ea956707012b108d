import { Shared } from '../../platform/concurrency/shared.js';
import type { EntryName } from '../owned/statement.js';
import { entryIdNamed, hostOf } from '../postgres/entry-rows.js';

/** How old it may be before it is read again, milliseconds. */
const FRESH_MS = 10_000;
/** What is older, because it could not be read again, is not known any more. */
const KNOWN_MS = 60_000;

/** What is not listed, whoever pays for it. */
export interface StandingRefusals {
  /** Entries that their payees have taken back: ids in hex, and until when (milliseconds since the epoch). */
  readonly removed: ReadonlyMap<string, number>;
  /** Payees in lower case, and hosts. */
  readonly denied: ReadonlySet<string>;
}

interface KnownRefusalsParts {
  /** All of them, or the newest. */
  readonly read: () => Promise<StandingRefusals>;
  readonly onTrouble: (error: unknown) => void;
  readonly clock: { now(): number; steady(): number };
}

/**
 * What is known of entries that no payment lists, as it was some seconds ago. Nobody waits for it: it is read beside
 * those who ask, once for all of them, and not while nobody asks.
 */
export class KnownRefusals {
  readonly #reading: Shared<void>;
  #known: { readonly refusals: StandingRefusals; readonly at: number } | undefined;

  constructor(private readonly parts: KnownRefusalsParts) {
    const { clock } = parts;
    const read = async (): Promise<void> => {
      this.#known = { refusals: await parts.read(), at: clock.steady() };
    };
    this.#reading = new Shared(read, FRESH_MS, () => clock.steady());
  }

  /** Somebody will ask: it is read if it is not fresh. */
  prepare(): void {
    this.#reading.get().catch(this.parts.onTrouble);
  }

  /** @returns `undefined` where nothing is known against it, or nothing is known. */
  of(entry: EntryName): 'removed' | 'denied' | undefined {
    const { clock } = this.parts;
    if (this.#known === undefined || clock.steady() - this.#known.at > KNOWN_MS) return undefined;
    const { removed, denied } = this.#known.refusals;
    const endsAt = removed.get(entryIdNamed(entry).toString('hex'));
    if (endsAt !== undefined && endsAt > clock.now()) return 'removed';
    return denied.has(entry.payTo) || denied.has(hostOf(entry.resource)) ? 'denied' : undefined;
  }
}
