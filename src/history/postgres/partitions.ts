import type pg from 'pg';
import { MIGRATION_LOCK } from './migrator.js';
import { SCHEMA } from './tables.js';

/** Partitions are created early, because the creation locks the whole table. */
const MONTHS_AHEAD = 2;

/** The monthly partitions of the table of settlements. */
export class Partitions {
  readonly #made = new Set<Month>();

  /** @param months - kept beside the current month; `undefined` keeps all. */
  constructor(
    private readonly pool: pg.Pool,
    private readonly months: number | undefined,
  ) {}

  isKept(at: Date, now: number): boolean {
    return monthOf(at.getTime()) >= oldestKept(now, this.months);
  }

  /** Creates the missing partitions for these moments. */
  async makeFor(moments: readonly Date[]): Promise<void> {
    await this.#make(moments.map((at) => monthOf(at.getTime())));
  }

  /** Creates the next partitions, and drops the expired ones. */
  async upkeep(now: number): Promise<void> {
    // Another process may have dropped a partition that this process created.
    this.#made.clear();
    const current = monthOf(now);
    await this.#make(Array.from({ length: MONTHS_AHEAD + 1 }, (_, ahead) => current + ahead));
    if (this.months === undefined) return;
    const oldest = oldestKept(now, this.months);
    for (const name of await this.#names()) {
      const month = monthOfPartition(name);
      if (month === undefined || month >= oldest) continue;
      await this.pool.query(`drop table if exists ${SCHEMA}.${name}`);
    }
    await this.pool.query(`delete from ${SCHEMA}.settlement_ids where claimed_at < $1`, [
      startOf(oldest),
    ]);
  }

  async #make(wanted: readonly Month[]): Promise<void> {
    const missing = [...new Set(wanted)].filter((month) => !this.#made.has(month));
    if (missing.length === 0) return;
    const client = await this.pool.connect();
    try {
      await client.query('begin');
      // Two processes that create the same partition at once would fail.
      await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
      for (const month of missing) {
        await client.query(
          `create table if not exists ${SCHEMA}.${partitionOf(month)} partition of
            ${SCHEMA}.settlements for values from ('${startOf(month)}') to ('${startOf(month + 1)}')`,
        );
      }
      await client.query('commit');
      client.release();
    } catch (error) {
      client.release(true);
      throw error;
    }
    for (const month of missing) this.#made.add(month);
  }

  async #names(): Promise<readonly string[]> {
    const { rows } = await this.pool.query<{ readonly name: string }>(
      `select child.relname as name from pg_inherits
        join pg_class child on child.oid = inhrelid
        where inhparent = '${SCHEMA}.settlements'::regclass`,
    );
    return rows.map(({ name }) => name);
  }
}

/** A month in UTC, counted from the year 0, with 12 per year. */
type Month = number;

export function monthOf(ms: number): Month {
  const date = new Date(ms);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The first moment of a month, as PostgreSQL and `Date` read it. */
export function startOf(month: Month): string {
  const year = String(Math.floor(month / 12)).padStart(4, '0');
  return `${year}-${String((month % 12) + 1).padStart(2, '0')}-01T00:00:00Z`;
}

/** The partition of a month: `settlements_2026_11`. */
export function partitionOf(month: Month): string {
  return `settlements_${startOf(month).slice(0, 7).replace('-', '_')}`;
}

/** @returns `undefined` for any other table. */
export function monthOfPartition(name: string): Month | undefined {
  const [, year, month] = /^settlements_(\d{4})_(0[1-9]|1[0-2])$/.exec(name) ?? [];
  return year === undefined ? undefined : Number(year) * 12 + Number(month) - 1;
}

/** The oldest month that is stored beside the current month. */
export function oldestKept(now: number, months: number | undefined): Month {
  return months === undefined ? -Infinity : monthOf(now) - months;
}
