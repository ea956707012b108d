import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { ArchiveError } from '../archive.js';
import { asked, codeOf } from './database.js';
import { SCHEMA } from './tables.js';

/** `missing`: no tables, as before the first start. `outdated`: a migration of this version is missing. */
export type TablesState = 'there' | 'outdated' | 'missing';

interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly digest: string;
}

const FOLDER = new URL('../migrations/', import.meta.url);
/** The advisory lock of migrations: "x402" in ASCII. */
export const MIGRATION_LOCK = 0x78343032;
const STATEMENT_TIMEOUT_MS = 600_000;
const NO_SUCH_TABLE = '42P01';

export function migrations(): readonly Migration[] {
  return readdirSync(FOLDER)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
    .map((name) => {
      const sql = readFileSync(new URL(name, FOLDER), 'utf8');
      return { name, sql, digest: createHash('sha256').update(sql).digest('hex') };
    });
}

/**
 * Applies the missing migrations, each in a transaction, under a lock that one process holds at a time.
 *
 * @returns the names of the applied migrations.
 * @throws ArchiveError
 */
export function migrate(pool: pg.Pool): Promise<readonly string[]> {
  return asked(withLock(pool));
}

async function withLock(pool: pg.Pool): Promise<readonly string[]> {
  if (await isMigrated(pool)) return [];
  const client = await pool.connect();
  try {
    await client.query('begin');
    // A transaction lock is released also by a crash.
    await client.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`);
    await client.query('select pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(`create schema if not exists ${SCHEMA}`);
    await client.query(
      `create table if not exists ${SCHEMA}.migrations (name text primary key, digest text not null,
        applied_at timestamptz not null default now())`,
    );
    const missing = missingOf(await applied(client));
    for (const { name, sql, digest } of missing) {
      await client.query(sql);
      await client.query(`insert into ${SCHEMA}.migrations (name, digest) values ($1, $2)`, [
        name,
        digest,
      ]);
    }
    await client.query('commit');
    client.release();
    return missing.map(({ name }) => name);
  } catch (error) {
    // A connection in an unknown state must not return to the pool.
    client.release(true);
    throw error;
  }
}

/** @throws ArchiveError `schema_outdated` if a migration is missing. */
export async function checkMigrated(pool: pg.Pool): Promise<void> {
  if ((await tablesState(pool)) !== 'there') throw new ArchiveError('schema_outdated', undefined);
}

/** @throws ArchiveError */
export async function tablesState(pool: pg.Pool): Promise<TablesState> {
  try {
    const missing = missingOf(await asked(applied(pool)));
    return missing.length === 0 ? 'there' : 'outdated';
  } catch (error) {
    if (!(error instanceof ArchiveError) || error.condition !== 'schema_outdated') throw error;
    return error.sqlState === NO_SUCH_TABLE ? 'missing' : 'outdated';
  }
}

/** A database user that only uses the tables needs no permission to create them. */
async function isMigrated(pool: pg.Pool): Promise<boolean> {
  try {
    return missingOf(await applied(pool)).length === 0;
  } catch (error) {
    if (codeOf(error) === NO_SUCH_TABLE) return false;
    throw error;
  }
}

async function applied(client: Pick<pg.Pool, 'query'>): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ readonly name: string; readonly digest: string }>(
    `select name, digest from ${SCHEMA}.migrations`,
  );
  return new Map(rows.map(({ name, digest }) => [name, digest]));
}

/** Migrations of a newer version are ignored, because it may run beside this version. */
function missingOf(known: ReadonlyMap<string, string>): readonly Migration[] {
  return migrations().filter(({ name, digest }) => {
    const found = known.get(name);
    if (found !== undefined && found !== digest) {
      // A migration differs from the one of this version. Nothing is written to unknown tables.
      throw new ArchiveError('schema_outdated', undefined);
    }
    return found === undefined;
  });
}
