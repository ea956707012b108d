import { randomUUID } from 'node:crypto';
import { type Kysely, sql, type Transaction } from 'kysely';
import { bytesOf, hexOf } from '../../history/postgres/bytea.js';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { Listing, ListingType } from '../../protocol/listing/listing.js';
import {
  type Dismissal,
  NEWEST_MOST,
  type Report,
  type ReportBounds,
  type ReportedEntry,
  type ReportedPlace,
  type ReportKind,
  type ReportOutcome,
  type ReportStore,
} from '../operators/report-store.js';
import type { EntryName } from '../owned/statement.js';
import { callOf, entryIdNamed, hostOf } from './entry-rows.js';
import { isDenied } from './postgres-catalogue-reader.js';

/** One report at a time is counted and written, so that the bounds hold. */
const REPORTS_LOCK = 0x78343039;

interface OpenRow {
  readonly entry_id: Buffer;
  readonly chain_id: string;
  readonly pay_to: Buffer;
  readonly type: ListingType;
  readonly resource: string;
  readonly call: string;
  readonly host: string;
  readonly counts: Readonly<Partial<Record<ReportKind, number>>>;
  readonly count: string;
  readonly first_at: Date;
  readonly last_at: Date;
  readonly newest: readonly { kind: ReportKind; words: string; reported_at: string }[];
}

/** {@link ReportStore} in the database of the history. */
export class PostgresReports implements ReportStore {
  constructor(private readonly db: Kysely<Tables>) {}

  async entriesAt(
    { resource, payTo, chainId }: ReportedPlace,
    since: Date,
    most: number,
  ): Promise<readonly EntryName[]> {
    const { rows } = await asked(
      sql<{ chain_id: string; pay_to: Buffer; listing: string }>`
        select chain_id, pay_to, listing from x402.catalogue_entries entry
        where (resource = ${resource} or example_url = ${resource})
          and ${payTo === undefined ? sql`true` : sql`pay_to = ${bytesOf(payTo)}`}
          and ${chainId === undefined ? sql`true` : sql`chain_id = ${chainId}`}
          and last_paid_at >= ${since} and not ${isDenied(sql`entry`)}
        order by last_paid_at desc, id desc limit ${most}`.execute(this.db),
    );
    return rows.map((row) => {
      const listing = JSON.parse(row.listing) as Listing;
      const { type } = listing;
      return {
        ...{ chainId: Number(row.chain_id), payTo: hexOf(row.pay_to), type },
        ...{ resource: listing.resource, call: callOf(listing) },
      };
    });
  }

  add({ entry, kind, words, at, reporter }: Report, bounds: ReportBounds): Promise<ReportOutcome> {
    const entry_id = entryIdNamed(entry);
    return asked(
      this.db.transaction().execute(async (transaction) => {
        await sql`select pg_advisory_xact_lock(${REPORTS_LOCK})`.execute(transaction);
        await forgetReporters(transaction, at);
        const { rows } = await sql<Readonly<Record<'again' | 'mine' | 'same' | 'open', string>>>`
          select count(*) filter (where reporter = ${reporter} and entry_id = ${entry_id}) as again,
            count(*) filter (where reporter = ${reporter}) as mine,
            count(*) filter (where closed_at is null and entry_id = ${entry_id}) as same,
            count(*) filter (where closed_at is null) as open
          from x402.catalogue_reports`.execute(transaction);
        const count = rows[0];
        if (Number(count?.again) > 0) return 'again';
        if (Number(count?.mine) >= bounds.ofReporter) return 'reporter_full';
        if (Number(count?.same) >= bounds.ofEntry) return 'entry_full';
        if (Number(count?.open) >= bounds.open) return 'full';
        const { chainId, payTo, type, resource, call } = entry;
        await transaction
          .insertInto('catalogue_reports')
          .values({
            ...{ entry_id, chain_id: chainId, pay_to: bytesOf(payTo), type, resource, call },
            ...{ host: hostOf(resource), kind, words, reported_at: at, reporter },
          })
          .execute();
        return 'added';
      }),
    );
  }

  async open(most: number): Promise<readonly ReportedEntry[]> {
    const { rows } = await asked(
      sql<OpenRow>`
        with open as (select * from x402.catalogue_reports where closed_at is null),
        reported as (
          select entry_id, count(*) as count, min(reported_at) as first_at, max(reported_at) as last_at
          from open group by entry_id order by count(*) desc, max(reported_at) desc, entry_id
          limit ${most})
        select reported.*, last.chain_id, last.pay_to, last.type, last.resource, last.call, last.host,
          (select json_object_agg(kind, number) from (
            select kind, count(*) as number from open
            where open.entry_id = reported.entry_id group by kind) kinds) as counts,
          (select json_agg(json_build_object('kind', kind, 'words', words, 'reported_at', reported_at)
              order by reported_at desc, id desc) from (
            select * from open where open.entry_id = reported.entry_id
            order by reported_at desc, id desc limit ${NEWEST_MOST}) newest) as newest
        from reported, lateral (
          select * from open where open.entry_id = reported.entry_id
          order by reported_at desc, id desc limit 1) last
        order by count desc, last_at desc, entry_id`.execute(this.db),
    );
    return rows.map(reportedOf);
  }

  dismiss({ id, reason, by, at }: Dismissal, bounds: ReportBounds): Promise<number> {
    return asked(
      this.db.transaction().execute(async (transaction) => {
        const { numUpdatedRows } = await transaction
          .updateTable('catalogue_reports')
          .set({ closed_at: at, closed_by: by, outcome: 'dismissed' })
          .where('entry_id', '=', Buffer.from(id, 'hex'))
          .where('closed_at', 'is', null)
          .executeTakeFirst();
        if (numUpdatedRows === 0n) return 0;
        await forgetClosed(transaction, bounds.closed);
        await transaction
          .insertInto('audit')
          .values({
            ...{ id: randomUUID(), chain_id: null, happened_at: at, actor: by },
            ...{ action: 'catalogue_reports_dismissed', subject: `entry:${id}`, reason },
          })
          .execute();
        return Number(numUpdatedRows);
      }),
    );
  }
}

/** Who said something is told apart on the same day alone. */
async function forgetReporters(transaction: Transaction<Tables>, at: Date): Promise<void> {
  const today = new Date(Math.floor(at.getTime() / 86_400_000) * 86_400_000);
  await transaction
    .updateTable('catalogue_reports')
    .set({ reporter: null })
    .where('reporter', 'is not', null)
    .where('reported_at', '<', today)
    .execute();
}

export async function forgetClosed(transaction: Transaction<Tables>, most: number): Promise<void> {
  await sql`
    delete from x402.catalogue_reports where id in (
      select id from x402.catalogue_reports where closed_at is not null
      order by closed_at desc, id desc offset ${most})`.execute(transaction);
}

function reportedOf(row: OpenRow): ReportedEntry {
  const { type, resource, call, host, counts } = row;
  return {
    id: row.entry_id.toString('hex'),
    entry: { chainId: Number(row.chain_id), payTo: hexOf(row.pay_to), type, resource, call },
    ...{ host, counts, count: Number(row.count), firstAt: row.first_at, lastAt: row.last_at },
    newest: row.newest.map(({ kind, words, reported_at }) => ({
      ...{ kind, words, at: new Date(reported_at) },
    })),
  };
}
