import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Address } from 'viem';
import { bytesOf, hexOf } from '../../history/postgres/bytea.js';
import { asked } from '../../history/postgres/database.js';
import {
  type CallReader,
  CALLS_MAX,
  type CallWriter,
  type DeclaredCall,
  type DueEntry,
  FUNDED_MAX,
  OTHER_PAYEES_MAX,
  OTHER_PAYERS_MIN,
  PAUSE_MS,
  type Rating,
  YOUNG_MS,
} from '../quality/call-store.js';
import { type OtherPayees, thousandths, WINDOW_MS } from '../quality/quality.js';
import { CatalogueDatabase } from './catalogue-database.js';
import { entryIdOf } from './entry-rows.js';
import { WRITER_LOCK } from './postgres-catalogue.js';

/** Limit of newest purchases that are read of one payer, or of one payee. */
const READ_MAX = 200;
/** For a payee this first portion is usually enough, and the rest is not read. */
const READ_FIRST = 16;
/** Final outcomes, including failures. */
const LAST = ['finalized', 'reverted', 'expired', 'foreign', 'withdrawn'];
const FAILED: ReadonlySet<string> = new Set(['reverted', 'expired']);

/** {@link CallWriter} and {@link CallReader} in the database of the history. */
@Injectable()
export class PostgresCalls implements CallWriter, CallReader {
  constructor(@Inject(CatalogueDatabase) private readonly db: CatalogueDatabase) {}

  async link(chainId: number, calls: readonly DeclaredCall[], now: Date): Promise<void> {
    if (calls.length === 0) return;
    const listings = new Map(calls.map(({ settlementId, listing }) => [settlementId, listing]));
    const ids = [...listings.keys()].map((id) => Buffer.from(id, 'base64url'));
    await asked(
      this.db.transaction().execute(async (transaction) => {
        const { rows } = await sql<{ id: Buffer; pay_to: Buffer; claimed_at: Date }>`
          select settled.id, settled.pay_to, settled.claimed_at
          from x402.settlement_ids named join x402.settlements settled
            on settled.id = named.id and settled.claimed_at = named.claimed_at
          where named.id = any (${ids}::bytea[]) and settled.chain_id = ${chainId}
            and settled.pay_to is not null
          order by settled.id`.execute(transaction);
        const linked = rows.flatMap((row) => {
          const listing = listings.get(row.id.toString('base64url'));
          if (listing === undefined) return [];
          return [{ ...row, entry: entryIdOf({ chainId, payTo: hexOf(row.pay_to) }, listing) }];
        });
        if (linked.length === 0) return;
        const entries = linked.map(({ entry }) => entry);
        await sql`select pg_advisory_xact_lock(${WRITER_LOCK})`.execute(transaction);
        await sql`
          insert into x402.catalogue_calls (settlement_id, entry_id, claimed_at)
          select call.id, call.entry, call.at
          from unnest(${linked.map(({ id }) => id)}::bytea[], ${entries}::bytea[],
            ${linked.map(({ claimed_at }) => claimed_at)}::timestamptz[]) call (id, entry, at)
          join x402.catalogue_entries entry on entry.id = call.entry
          on conflict do nothing`.execute(transaction);
        const soon = sql`greatest(${now}::timestamptz, rated_at + ${PAUSE_MS} * interval '1 ms')`;
        await sql`
          update x402.catalogue_entries set due_at = ${soon}
          where id = any (${entries}::bytea[]) and due_at > ${soon}`.execute(transaction);
      }),
    );
  }

  async takeDue(now: Date, until: Date, most: number): Promise<readonly DueEntry[]> {
    const { rows } = await asked(
      sql<{ id: Buffer; pay_to: Buffer }>`
        update x402.catalogue_entries set due_at = ${until}
        where id in (
          select id from x402.catalogue_entries where due_at <= ${now} and due_at < 'infinity'
          order by due_at limit ${most} for update skip locked)
        returning id, pay_to`.execute(this.db),
    );
    return rows.map((row) => ({ id: row.id.toString('hex'), payTo: hexOf(row.pay_to) }));
  }

  async calls(
    { id }: DueEntry,
    since: Date,
    now: Date,
  ): Promise<Awaited<ReturnType<CallReader['calls']>>> {
    const { rows } = await asked(
      sql<{
        readonly payer: Buffer;
        readonly state: string;
        readonly is_paid: boolean;
        readonly claimed_at: Date;
        readonly included_at: Date | null;
      }>`
        select settled.payer, settled.state, settled.claimed_at, settled.included_at,
          settled.is_paid and coalesce(settled.settled_amount, settled.amount) > 0 as is_paid
        from (
          select settlement_id, claimed_at from x402.catalogue_calls
          where entry_id = ${Buffer.from(id, 'hex')} and claimed_at >= ${since}
          order by claimed_at desc limit ${CALLS_MAX}) call
        join x402.settlements settled
          on settled.id = call.settlement_id and settled.claimed_at = call.claimed_at
        where settled.payer is not null and settled.claimed_at >= ${since}`.execute(this.db),
    );
    return {
      calls: rows.flatMap(({ payer, state, is_paid, claimed_at, included_at }) =>
        (is_paid && state !== 'foreign') || FAILED.has(state)
          ? [
              {
                payer: hexOf(payer),
                isPaid: is_paid,
                claimedAt: claimed_at,
                includedAt: included_at ?? undefined,
              },
            ]
          : [],
      ),
      mayChange: rows.some(
        ({ state, claimed_at }) =>
          !LAST.includes(state) && claimed_at.getTime() > now.getTime() - YOUNG_MS,
      ),
    };
  }

  async paidBy(payers: readonly Address[], since: Date): Promise<readonly Address[]> {
    const { rows } = await asked(
      sql<{ pay_to: Buffer }>`
        select distinct paid.pay_to from unnest(${payers.map(bytesOf)}::bytea[]) funder (address)
        cross join lateral (
          select pay_to from x402.settlements
          where payer = funder.address and claimed_at >= ${since} and is_paid and pay_to is not null
          order by claimed_at desc limit ${FUNDED_MAX}) paid
        limit ${FUNDED_MAX}`.execute(this.db),
    );
    return rows.map((row) => hexOf(row.pay_to));
  }

  async otherPayees(
    payers: readonly Address[],
    circle: readonly Address[],
    all: readonly Address[],
    since: Date,
  ): Promise<OtherPayees> {
    const listed = sql`exists (
      select from x402.catalogue_calls call where call.settlement_id = settled.id)`;
    /** Whether there are enough other payers among the newest purchases of a payee. */
    const haveOtherPayers = (read: number) => sql`${OTHER_PAYERS_MIN} <= (
      select count(distinct payer) from (
        select payer from x402.settlements settled
        where pay_to = payee.pay_to and claimed_at >= ${since} and is_paid and ${listed}
        order by claimed_at desc limit ${read}) newest
      where payer <> payee.pay_to
        and payer not in (select unnest(${all.map(bytesOf)}::bytea[]))
        and payer not in (select unnest(${circle.map(bytesOf)}::bytea[])))`;
    const { rows } = await asked(
      sql<{ payer: Buffer; pay_to: Buffer }>`
        with bought as materialized (
          select buyer.address as payer, other.pay_to
          from unnest(${payers.map(bytesOf)}::bytea[]) buyer (address)
          cross join lateral (
            select pay_to from (
              select pay_to, claimed_at from x402.settlements settled
              where payer = buyer.address and claimed_at >= ${since} and is_paid and ${listed}
                and pay_to <> payer
                and pay_to not in (select unnest(${circle.map(bytesOf)}::bytea[]))
              order by claimed_at desc limit ${READ_MAX}) newest
            group by pay_to order by max(claimed_at) desc, pay_to limit ${OTHER_PAYEES_MAX}) other),
        known as materialized (
          select payee.pay_to from (select distinct pay_to from bought) payee
          where ${haveOtherPayers(READ_FIRST)} or ${haveOtherPayers(READ_MAX)})
        select payer, pay_to from bought join known using (pay_to)`.execute(this.db),
    );
    const found = new Map<Address, Address[]>();
    for (const row of rows) {
      const payer = hexOf(row.payer);
      found.set(payer, [...(found.get(payer) ?? []), hexOf(row.pay_to)]);
    }
    return found;
  }

  async rate({ id }: DueEntry, { quality, ratedAt, takenUntil, dueAt }: Rating): Promise<void> {
    await asked(
      sql`
        update x402.catalogue_entries
        set score = ${thousandths(quality.score)}, quality = ${JSON.stringify(quality)},
          rated_at = ${ratedAt},
          due_at = case when due_at = ${takenUntil}
            then coalesce(${dueAt ?? null}::timestamptz, 'infinity') else due_at end
        where id = ${Buffer.from(id, 'hex')}`.execute(this.db),
    );
    // Calls outside the window stay outside.
    await asked(
      sql`
        delete from x402.catalogue_calls where entry_id = ${Buffer.from(id, 'hex')}
          and claimed_at < ${new Date(ratedAt.getTime() - WINDOW_MS)}`.execute(this.db),
    );
  }
}
