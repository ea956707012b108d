import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { bytesOf, hexOf } from '../../history/postgres/bytea.js';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { Listing } from '../../protocol/listing/listing.js';
import type {
  CatalogueEntry,
  CatalogueFilter,
  CatalogueReader,
  FoundEntries,
  ListingState,
  PageStart,
} from '../catalogue.js';
import type { RefusalCode } from '../codes.js';
import { CatalogueDatabase } from './catalogue-database.js';
import { isReadable, searchEntries } from './catalogue-search.js';
import { callOf } from './entry-rows.js';
import { type EntryRow, KnownEntries } from './known-entries.js';

/** Limit of entries and refusals of one resource. */
const STANDINGS_MAX = 50;
/** Limit of counted entries: no client pages further by number, and counting all takes longer than reading. */
const COUNTED_MAX = 1000;

/** {@link CatalogueReader} in the database of the history. */
@Injectable()
export class PostgresCatalogueReader implements CatalogueReader {
  readonly #known = new KnownEntries();
  #trigrams: string | undefined;

  constructor(@Inject(CatalogueDatabase) private readonly db: CatalogueDatabase) {}

  async page(
    filter: CatalogueFilter,
    start: PageStart,
    most: number,
  ): Promise<readonly CatalogueEntry[]> {
    const begin =
      'after' in start
        ? sql`and (entry.score, entry.last_paid_at, entry.id) <
            (${start.after.score}, ${new Date(start.after.paidAt)}, ${Buffer.from(start.after.id, 'hex')})`
        : sql``;
    const offset = 'offset' in start ? start.offset : 0;
    return this.#entries(sql`
      select entry.*, row_number() over () as rank from (
        select * from x402.catalogue_entries entry where ${conditionsOf(filter)} ${begin}
        order by score desc, last_paid_at desc, id desc limit ${most} offset ${offset}) entry`);
  }

  async count(filter: CatalogueFilter): Promise<number> {
    const { rows } = await asked(
      sql<{ readonly count: string }>`
        select count(*) as count from (
          select from x402.catalogue_entries entry
          where ${conditionsOf(filter)} limit ${COUNTED_MAX}) counted`.execute(this.db),
    );
    return Number(rows[0]?.count ?? 0);
  }

  async search(
    filter: CatalogueFilter,
    text: string,
    { offset }: { readonly offset: number },
    most: number,
  ): Promise<FoundEntries | 'unreadable'> {
    if (!(await isReadable(this.db, text))) return 'unreadable';
    const trigrams = await asked(this.#placeOfTrigrams());
    const conditions = conditionsOf(filter);
    const entries = await asked(
      this.db.transaction().execute(async (transaction) => {
        const wanted = { text, conditions, trigrams, most: offset + most };
        const ids = (await searchEntries(transaction, wanted)).slice(offset);
        return this.#entries(
          sql`select entry.*, rank from unnest(${ids}::bytea[]) with ordinality found (id, rank)
            join x402.catalogue_entries entry using (id)`,
          transaction,
        );
      }),
    );
    return { entries, method: trigrams === undefined ? 'text' : 'text+trigram' };
  }

  async listingStates(
    { resource, payTo }: Parameters<CatalogueReader['listingStates']>[0],
    since: Date,
  ): Promise<readonly ListingState[]> {
    const ofPayee = payTo === undefined ? sql`true` : sql`pay_to = ${bytesOf(payTo)}`;
    const { rows } = await asked(
      sql<{
        readonly chain_id: string;
        readonly pay_to: Buffer;
        readonly resource: string;
        readonly call: string | null;
        readonly listing: string | null;
        readonly code: string;
        readonly path: string | null;
        readonly at: Date;
      }>`
        (select chain_id, pay_to, resource, null as call, listing, case
            when ${isDenied(sql`entry`)} then 'denied'
            when last_paid_at < ${since} then 'expired' else 'listed' end as code,
          null as path, last_paid_at as at
        from x402.catalogue_entries entry
        where ${isAt(resource, sql`example_url is not null`)} and ${ofPayee}
        order by last_paid_at desc, id limit ${STANDINGS_MAX})
        union all
        (select chain_id, pay_to, resource, null, null, code, path, happened_at
        from x402.catalogue_refusals where ${isAt(resource, sql`is_template`)} and ${ofPayee}
        order by happened_at desc, pay_to limit ${STANDINGS_MAX})
        union all
        (select chain_id, pay_to, resource, call, null, 'removed', null, accepted_at
        from x402.catalogue_statements where ${isAt(resource, sql`is_template`)} and ${ofPayee}
          and action = 'remove' and (ends_at is null or ends_at > now())
        order by accepted_at desc, entry_id limit ${STANDINGS_MAX})`.execute(this.db),
    );
    return rows.map((row) => ({
      chainId: Number(row.chain_id),
      payTo: hexOf(row.pay_to),
      resource: row.resource,
      call:
        row.listing === null ? (row.call ?? undefined) : callOf(JSON.parse(row.listing) as Listing),
      code: row.code as 'listed' | 'expired' | RefusalCode,
      path: row.path ?? undefined,
      at: row.at,
    }));
  }

  /** @param page - entries with their rank in the answer. */
  async #entries(
    page: RawBuilder<unknown>,
    db: Kysely<Tables> = this.db,
  ): Promise<readonly CatalogueEntry[]> {
    const { rows } = await asked(
      sql<EntryRow>`
        select id, chain_id, pay_to, listing, first_paid_at, last_paid_at, score, quality,
          (select count(distinct other.pay_to) from x402.catalogue_entries other
            where other.place = entry.place and other.pay_to <> entry.pay_to) as others,
          (select json_agg(json_build_object('scheme', scheme, 'asset', encode(asset, 'hex'),
              'amount', amount::text, 'offer', offer) order by paid_at desc)::text
            from x402.catalogue_offers where entry_id = entry.id) as offers
        from (${page}) entry order by rank`.execute(db),
    );
    return rows.map((row) => this.#known.read(row));
  }

  /** The schema of the `pg_trgm` functions, which may be installed while this process runs. */
  async #placeOfTrigrams(): Promise<string | undefined> {
    if (this.#trigrams !== undefined) return this.#trigrams;
    const { rows } = await sql<{ readonly nspname: string }>`
      select nspname from pg_extension join pg_namespace namespace on namespace.oid = extnamespace
      where extname = 'pg_trgm'`.execute(this.db);
    this.#trigrams = rows[0]?.nspname;
    return this.#trigrams;
  }
}

/**
 * Matches entries of a URL, or of a template for it, like `standsFor`. A parameter stands for one or more characters
 * without a slash, so both have equally many slashes. Only templates of the same origin are compared.
 */
function isAt(url: string, isTemplate: RawBuilder<unknown>): RawBuilder<boolean> {
  const origin = /^\w+:\/\/[^/]*\//.exec(url)?.[0] ?? url;
  // No template contains this character: it marks a parameter before special characters of patterns are escaped.
  const marked = sql`regexp_replace(resource, ':[a-zA-Z_][a-zA-Z0-9_]*', chr(1), 'g')`;
  const pattern = sql`replace(regexp_replace(${marked}, '([%_])', '\\\\\\1', 'g'), chr(1), '_%')`;
  return sql`(resource = ${url} or (${isTemplate}
    and resource ~>=~ ${origin} and resource ~<~ ${`${origin.slice(0, -1)}0`}
    and length(resource) - length(replace(resource, '/', '')) = ${url.split('/').length - 1}
    and ${url} like ${pattern}))`;
}

/** The filter of the request, within the public entries. */
function conditionsOf(filter: CatalogueFilter): RawBuilder<boolean> {
  const { type, payTo, chainId, x402Version, scheme, asset, maxAmount, since } = filter;
  const conditions = [
    sql`entry.last_paid_at >= ${since}`,
    sql`not ${isDenied(sql`entry`)}`,
    ...(type === undefined ? [] : [sql`entry.type = ${type}`]),
    ...(payTo === undefined ? [] : [sql`entry.pay_to = ${bytesOf(payTo)}`]),
    ...(chainId === undefined ? [] : [sql`entry.chain_id = ${chainId}`]),
    ...(x402Version === undefined ? [] : [sql`entry.x402_version = ${x402Version}`]),
  ];
  const ofOffer = [
    ...(scheme === undefined ? [] : [sql`scheme = ${scheme}`]),
    ...(asset === undefined ? [] : [sql`asset = ${bytesOf(asset)}`]),
    ...(maxAmount === undefined ? [] : [sql`amount <= ${maxAmount.toString()}::numeric`]),
  ];
  if (ofOffer.length > 0) {
    conditions.push(sql`exists (select from x402.catalogue_offers
      where entry_id = entry.id and ${sql.join(ofOffer, sql` and `)})`);
  }
  return sql`${sql.join(conditions, sql` and `)}`;
}

/** The list is short, and read once for each page. */
export function isDenied(entry: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(
    exists (select from x402.catalogue_denials where kind = 'host' and value = ${entry}.host)
    or exists (select from x402.catalogue_denials
      where kind = 'payee' and value = '0x' || encode(${entry}.pay_to, 'hex')))`;
}
