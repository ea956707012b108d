import { type Kysely, sql, type Transaction } from 'kysely';
import { hexOf } from '../../history/postgres/bytea.js';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { Listing } from '../../protocol/listing/listing.js';
import { canBeProbed } from '../alive/probe.js';
import {
  HOST_FORGOTTEN_MS,
  HOST_PAUSE_MS,
  type ProbeBook,
  type Visit,
  type Visited,
} from '../alive/probe-book.js';
import type { Robots } from '../alive/robots.js';
import { isDenied } from './postgres-catalogue-reader.js';

/** One process at a time notes and works out what is due. */
const PROBES_LOCK = 0x78343036;

interface TakenRow {
  readonly host: string;
  readonly robots_origin: string | null;
  readonly robots: string | null;
  readonly robots_at: Date | null;
  readonly id: Buffer | null;
  readonly chain_id: string;
  readonly pay_to: Buffer;
  readonly listing: string;
}

/** {@link ProbeBook} in the database of the history. */
export class PostgresProbes implements ProbeBook {
  constructor(private readonly db: Kysely<Tables>) {}

  enrol(now: Date, most: number): Promise<number> {
    return this.#alone(async (transaction) => {
      const { rows } = await sql<{ id: Buffer; host: string; listing: string }>`
        select id, host, listing from x402.catalogue_entries entry
        where not exists (select from x402.catalogue_probes where entry_id = entry.id)
        limit ${most}`.execute(transaction);
      const probed = rows.map(({ listing }) => canBeProbed(JSON.parse(listing) as Listing));
      const hosts = rows.flatMap(({ host }, index) => (probed[index] === true ? [host] : []));
      // One that is taken back meanwhile is not noted any more, and none goes while it is noted.
      await sql`
        insert into x402.catalogue_probes (entry_id, host, due_at, state)
        select entry.id, entry.host,
          case when noted.is_probed then ${now}::timestamptz else 'infinity' end,
          case when noted.is_probed then null else 'not_probed' end
        from x402.catalogue_entries entry
        join unnest(${rows.map(({ id }) => id)}::bytea[], ${probed}::boolean[])
          noted (id, is_probed) on noted.id = entry.id
        for key share of entry`.execute(transaction);
      await sql`
        insert into x402.catalogue_hosts (host, due_at)
        select distinct named.host, ${now}::timestamptz from unnest(${hosts}::text[]) named (host)
        order by 1
        on conflict (host) do update set due_at = least(catalogue_hosts.due_at,
          greatest(excluded.due_at, ${restedAt(sql`catalogue_hosts`)}))`.execute(transaction);
      await sql`
        delete from x402.catalogue_hosts host where due_at <= ${now}
          and not exists (select from x402.catalogue_probes probe where probe.host = host.host)`.execute(
        transaction,
      );
      return rows.length;
    });
  }

  async take(now: Date, most: number): Promise<readonly Visit[]> {
    const restsUntil = new Date(now.getTime() + HOST_PAUSE_MS);
    const { rows } = await asked(
      sql<TakenRow>`
        with taken as (
          update x402.catalogue_hosts set visited_at = ${now}, due_at = ${restsUntil}
          where host in (
            select host from x402.catalogue_hosts where due_at <= ${now}
            order by due_at limit ${most} for update skip locked)
          returning host, robots_origin, robots, robots_at)
        select taken.*, due.id, due.chain_id, due.pay_to, due.listing
        from taken left join lateral (
          select entry.id, entry.chain_id, entry.pay_to, entry.listing
          from x402.catalogue_probes probe join x402.catalogue_entries entry on entry.id = probe.entry_id
          where probe.host = taken.host and probe.due_at <= ${now} and not ${isDenied(sql`entry`)}
          order by probe.due_at, probe.entry_id limit 1) due on true`.execute(this.db),
    );
    const idle = rows.filter(({ id }) => id === null).map(({ host }) => host);
    if (idle.length > 0) await this.#leave(idle);
    return rows.flatMap((row) => visitOf(row) ?? []);
  }

  async finish({ host, entry }: Visit, { probe, dueAt, robots }: Visited): Promise<void> {
    await asked(
      sql`
        update x402.catalogue_probes set state = ${probe.state}, status = ${probe.status ?? null},
          probed_at = ${probe.at ?? null}::timestamptz, due_at = ${dueAt}
        where entry_id = ${Buffer.from(entry.id, 'hex')}`.execute(this.db),
    );
    if (robots !== undefined) {
      await asked(
        sql`
          update x402.catalogue_hosts set robots_origin = ${robots.origin},
            robots = ${JSON.stringify(robots.robots)}, robots_at = ${robots.readAt}
          where host = ${host}`.execute(this.db),
      );
    }
    await this.#leave([host]);
  }

  /** They are due when they have rested and something of theirs is; without entries they are forgotten some time. */
  #leave(hosts: readonly string[]): Promise<void> {
    return this.#alone(async (transaction) => {
      await sql`
        update x402.catalogue_hosts host
        set due_at = greatest(${restedAt(sql`host`)}, coalesce(
          (select min(due_at) from x402.catalogue_probes probe where probe.host = host.host),
          visited_at + ${HOST_FORGOTTEN_MS} * interval '1 ms'))
        where host.host = any (${hosts}::text[])`.execute(transaction);
    });
  }

  /** What is due at a host is worked out from its entries: none may come or go meanwhile. */
  #alone<T>(work: (transaction: Transaction<Tables>) => Promise<T>): Promise<T> {
    return asked(
      this.db.transaction().execute(async (transaction) => {
        await sql`select pg_advisory_xact_lock(${PROBES_LOCK})`.execute(transaction);
        return work(transaction);
      }),
    );
  }
}

/** A host that was never asked has rested. */
function restedAt(host: ReturnType<typeof sql>) {
  return sql`coalesce(${host}.visited_at + ${HOST_PAUSE_MS} * interval '1 ms', '-infinity')`;
}

function visitOf(row: TakenRow): Visit | undefined {
  const { host, robots, robots_origin: origin, robots_at: readAt } = row;
  if (row.id === null) return undefined;
  const isKept = robots !== null && origin !== null && readAt !== null;
  return {
    host,
    robots: isKept ? { origin, readAt, robots: JSON.parse(robots) as Robots } : undefined,
    entry: {
      id: row.id.toString('hex'),
      chainId: Number(row.chain_id),
      payTo: hexOf(row.pay_to),
      listing: JSON.parse(row.listing) as Listing,
    },
  };
}
