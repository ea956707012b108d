import { hexOf } from '../../history/postgres/bytea.js';
import type { ListedOffer, Listing } from '../../protocol/listing/listing.js';
import type { CatalogueEntry, CatalogueOffer } from '../catalogue.js';
import type { Quality } from '../quality/quality.js';

/** An entry as the database returns it; JSON is text. */
export interface EntryRow {
  readonly id: Buffer;
  readonly chain_id: string;
  readonly pay_to: Buffer;
  readonly listing: string;
  readonly first_paid_at: Date;
  readonly last_paid_at: Date;
  readonly score: number;
  readonly quality: string | null;
  readonly others: string;
  readonly offers: string | null;
}

interface OfferRow {
  readonly scheme: string;
  readonly asset: string;
  readonly amount: string;
  readonly offer: string;
}

interface Known {
  readonly row: EntryRow;
  readonly entry: CatalogueEntry;
  readonly length: number;
}

/** Characters of cached rows; the parsed objects take several times that. */
const KEPT_LENGTH = 2_097_152;

/**
 * A cache of entries. An unchanged row gives the same object, so its JSON need not be built again, which is most of the
 * cost of a page.
 */
export class KnownEntries {
  /** The most recently read entries are last. */
  readonly #known = new Map<string, Known>();
  #length = 0;

  constructor(private readonly keptLength = KEPT_LENGTH) {}

  /** @returns the content of this row, never that of an earlier one. */
  read(row: EntryRow): CatalogueEntry {
    const id = row.id.toString('hex');
    const before = this.#known.get(id);
    if (before !== undefined) this.#drop(id, before);
    const known =
      before !== undefined && isSame(before.row, row)
        ? before
        : { row, entry: entryOf(row, id), length: lengthOf(row) };
    this.#known.set(id, known);
    this.#length += known.length;
    for (const [oldest, dropped] of this.#known) {
      if (this.#length <= this.keptLength) break;
      this.#drop(oldest, dropped);
    }
    return known.entry;
  }

  #drop(id: string, { length }: Known): void {
    this.#known.delete(id);
    this.#length -= length;
  }
}

/** Whether two rows with one id are equal. The id includes chain and payee. */
function isSame(one: EntryRow, other: EntryRow): boolean {
  return (
    one.last_paid_at.getTime() === other.last_paid_at.getTime() &&
    one.first_paid_at.getTime() === other.first_paid_at.getTime() &&
    one.score === other.score &&
    one.others === other.others &&
    one.listing === other.listing &&
    one.quality === other.quality &&
    one.offers === other.offers
  );
}

function lengthOf({ listing, quality, offers }: EntryRow): number {
  const texts = [listing, quality, offers];
  return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);
}

function entryOf(row: EntryRow, id: string): CatalogueEntry {
  return {
    chainId: Number(row.chain_id),
    payTo: hexOf(row.pay_to),
    listing: JSON.parse(row.listing) as Listing,
    offers: (JSON.parse(row.offers ?? '[]') as readonly OfferRow[]).map(offerOf),
    firstPaidAt: row.first_paid_at,
    lastPaidAt: row.last_paid_at,
    otherPayees: Number(row.others),
    quality: row.quality === null ? undefined : (JSON.parse(row.quality) as Quality),
    position: { score: row.score, paidAt: row.last_paid_at.getTime(), id },
  };
}

function offerOf({ scheme, asset, amount, offer }: OfferRow): CatalogueOffer {
  return { scheme, asset: `0x${asset}`, amount, offer: JSON.parse(offer) as ListedOffer };
}
