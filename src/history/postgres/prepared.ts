import type pg from 'pg';

/** A query that each connection plans once: to plan one over every month takes longer than to answer it. */
export interface Statement {
  /** Its own; a connection knows one text by it. */
  readonly name: string;
  readonly text: string;
}

/** @param values - `$1` and so on. */
export async function prepared<T extends pg.QueryResultRow>(
  pool: pg.Pool,
  { name, text }: Statement,
  values: readonly unknown[],
): Promise<readonly T[]> {
  const { rows } = await pool.query<T>({ name, text, values: [...values] });
  return rows;
}
