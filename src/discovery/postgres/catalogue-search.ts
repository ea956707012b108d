import { type Kysely, type RawBuilder, sql } from 'kysely';
import { ArchiveError, QUERY_CANCELLED } from '../../history/archive.js';
import { asked } from '../../history/postgres/database.js';
import type { Tables } from '../../history/postgres/tables.js';

interface SearchFor {
  readonly text: string;
  /** Further conditions on entries. */
  readonly conditions: RawBuilder<boolean>;
  /** The schema with the functions of `pg_trgm`; `undefined` if the database has none. */
  readonly trigrams: string | undefined;
  /** Limit of results. */
  readonly most: number;
}

/**
 * Only this many matches, those with the highest score, are sorted by relevance: a word that all entries contain is no
 * useful query.
 */
const CANDIDATES_MAX = 500;
/** The share of a word's trigrams that another word must have. */
const ALIKE = 0.4;
/** How much less similar than the best match another may be, in the sum of two measures from 0 to 1. */
const NEARLY = 0.3;
const ALIKE_MAX = 8;
/** Words of a query that are also searched with other spellings: the longest, which are the most specific. */
const WORDS_MAX = 5;
/** Shorter words are similar to everything. */
const LETTERS_MIN = 3;
/** A query that excludes words or has quotes is matched exactly. */
const SAYS_HOW = /"|(?:^|\s)-|\bor\b/i;

/**
 * Whether a text is a query with words. The database only parses it, so an error is the fault of the text: it does not
 * accept some sequences of special characters.
 *
 * @throws ArchiveError
 */
export async function isReadable(db: Kysely<Tables>, text: string): Promise<boolean> {
  try {
    const { rows } = await asked(
      sql<{ readonly nodes: number }>`
        select numnode(websearch_to_tsquery('simple', ${text})) as nodes`.execute(db),
    );
    return (rows[0]?.nodes ?? 0) > 0;
  } catch (error) {
    const isRefused = error instanceof ArchiveError && error.condition === 'database_failed';
    if (isRefused && error.sqlState !== QUERY_CANCELLED) return false;
    throw error;
  }
}

/**
 * Ids of entries, the best first: those with all words, then those with all words in a similar spelling, then those
 * with half of them. A stage is skipped once there are enough.
 */
export async function searchEntries(
  db: Kysely<Tables>,
  { text, conditions, trigrams, most }: SearchFor,
): Promise<readonly Buffer[]> {
  const found: Buffer[] = [];
  const look = async (query: RawBuilder<unknown>): Promise<void> => {
    const others = found.length === 0 ? sql`true` : sql`id <> all (${found}::bytea[])`;
    const { rows } = await sql<{ readonly id: Buffer }>`
      select id from (
        select id, search, score, last_paid_at from x402.catalogue_entries entry
        where search @@ ${query} and ${others} and ${conditions}
        order by score desc, last_paid_at desc, id desc limit ${CANDIDATES_MAX}) fitting
      order by (1 + ts_rank(search, ${query})) * (1 + ln(1 + score / 1000.0) / 10) desc,
        last_paid_at desc, id desc
      limit ${most - found.length}`.execute(db);
    found.push(...rows.map(({ id }) => id));
  };
  await look(sql`websearch_to_tsquery('simple', ${text})`);
  if (trigrams === undefined || found.length >= most || SAYS_HOW.test(text)) return found;
  const words = await alikeTo(db, text, trigrams);
  if (words.some(({ length }) => length > 1)) await look(sql`${allOf(words)}::tsquery`);
  if (words.length > 1 && found.length < most) await look(sql`${halfOf(words)}::tsquery`);
  return found;
}

/** A word of a query, and words with a similar spelling. */
type Word = readonly string[];

async function alikeTo(
  db: Kysely<Tables>,
  text: string,
  trigrams: string,
): Promise<readonly Word[]> {
  await sql`select set_config('pg_trgm.word_similarity_threshold', ${String(ALIKE)}, true)`.execute(
    db,
  );
  const alike = sql.ref(`${trigrams}.word_similarity`);
  const whole = sql.ref(`${trigrams}.similarity`);
  const { rows } = await sql<{ readonly asked: string; readonly words: readonly string[] | null }>`
    select asked, (
      select array_agg(word) from (
        select word, likeness, max(likeness) over () as best from (
          select word, ${alike}(asked, word) + ${whole}(asked, word) as likeness
          from x402.catalogue_words where asked operator(${sql.ref(trigrams)}.<%) word and word <> asked
          order by likeness desc, word limit ${ALIKE_MAX}) nearest) known
      where likeness >= best - ${NEARLY}::float8) as words
    from (
      select asked from unnest(tsvector_to_array(to_tsvector('simple', ${text}))) asked
      where length(asked) >= ${LETTERS_MIN} order by length(asked) desc, asked limit ${WORDS_MAX}) longest`.execute(
    db,
  );
  return rows.map(({ asked, words }) => [...new Set([asked, ...(words ?? [])])]);
}

/** A query of PostgreSQL: each word, or one with a similar spelling. */
function allOf(words: readonly Word[]): string {
  return words.map((word) => `(${word.map(quoted).join(' | ')})`).join(' & ');
}

function halfOf(words: readonly Word[]): string {
  const some = chosenOf(words, Math.ceil(words.length / 2));
  return some.map((one) => `(${allOf(one)})`).join(' | ');
}

/** All combinations of this many items. */
function chosenOf<T>(all: readonly T[], count: number): readonly (readonly T[])[] {
  const [first, ...others] = all;
  if (count === 0) return [[]];
  if (first === undefined) return [];
  return [
    ...chosenOf(others, count - 1).map((rest) => [first, ...rest]),
    ...chosenOf(others, count),
  ];
}

/** A word in literal form, with any special characters. */
function quoted(word: string): string {
  return `'${word.replace(/\\/g, '\\\\').replace(/'/g, "''")}'`;
}
