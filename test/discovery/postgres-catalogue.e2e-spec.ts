import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Discovery } from '../../src/discovery/asking/discovery.js';
import { ListQueryDto } from '../../src/discovery/asking/dto/discovery-query.dto.js';
import type { CatalogueFilter } from '../../src/discovery/catalogue.js';
import { PostgresCatalogue } from '../../src/discovery/postgres/postgres-catalogue.js';
import { PostgresCatalogueReader } from '../../src/discovery/postgres/postgres-catalogue-reader.js';
import { PostgresRefusals } from '../../src/discovery/postgres/postgres-refusals.js';
import { PostgresStatements } from '../../src/discovery/postgres/postgres-statements.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import {
  aLesson,
  aPaid,
  NOON,
  OTHER_PAYEE,
  PAYEE,
} from '../builders/discovery/catalogue-update.js';
import { aRecorded, CLAIMED_AT, idOf } from '../builders/history/recorded-settlement.js';
import { freshDatabase } from '../support/fresh-database.js';
import { catalogueContract } from '../twins/discovery/catalogue-contract.js';

const database = freshDatabase();

catalogueContract('in PostgreSQL', (entriesPerPayee) =>
  Promise.resolve({
    writer: new PostgresCatalogue(database.current.db, { entriesPerPayee }),
    reader: new PostgresCatalogueReader(database.current.db),
    statements: new PostgresStatements(database.current.db),
    deny: async (kind, value) => {
      await database.current.pool.query(
        'insert into x402.catalogue_denials (kind, value) values ($1, $2)',
        [kind, value],
      );
    },
  }),
);

describe('a catalogue in PostgreSQL', () => {
  const search = async (
    text: string,
    filter: Partial<CatalogueFilter> = {},
    offset = 0,
    most = 9,
  ) => {
    const reader = new PostgresCatalogueReader(database.current.db);
    const found = await reader.search({ since: new Date(0), ...filter }, text, { offset }, most);
    if (found === 'unreadable') throw new Error('not a question');
    return found;
  };
  const writer = () => new PostgresCatalogue(database.current.db, { entriesPerPayee: 9 });

  it('finds words that are not spelled alike, where it has pg_trgm', async () => {
    await writer().update([aLesson({ description: 'Weather of every city' })]);
    const { entries, method } = await search('wether');
    expect([entries.length, method]).toEqual([1, 'text+trigram']);
    expect((await search(`'; drop table x402.catalogue_entries; --`)).entries).toEqual([]);
  });

  it('finds what has all words before what is spelled alike, and that before what has half of them', async () => {
    await writer().update(
      [
        'wether of towns',
        'weather and forecast',
        'wether and forecast',
        'news',
        "l'eau \\ 'forecast",
        'forecasts of stocks',
      ].map((description, n) =>
        aLesson({ description, resource: `https://shop.example.com/${n}` }, { at: NOON + n }),
      ),
    );
    const described = async (text: string) =>
      (await search(text)).entries.map(({ listing }) => listing.description);
    const both = await described('weather forecast');
    expect(both.slice(0, 2)).toEqual(['weather and forecast', 'wether and forecast']);
    expect(both).toContain('forecasts of stocks');
    expect(both).not.toContain('news');
    expect(await described('wether forcast')).toEqual(
      expect.arrayContaining(['weather and forecast', 'wether and forecast']),
    );
    // A query in quotes is searched as it stands.
    expect(await described('"weather and forecast"')).toEqual(['weather and forecast']);
    expect(await described('forecast -weather -wether')).toEqual(["l'eau \\ 'forecast"]);
    expect(await described(`l'eau \\ ''`)).toEqual(["l'eau \\ 'forecast"]);
  });

  it('shows nothing that is spelled alike and is not asked for', async () => {
    const tool = { type: 'mcp', toolName: 'weather' } as const;
    await writer().update([
      aLesson({ ...tool, description: 'a tool' }),
      aLesson({ description: 'Weather of every city' }, { payTo: OTHER_PAYEE }),
    ]);
    const { entries } = await search('wether', { type: 'mcp' });
    expect(entries.map(({ listing }) => listing.description)).toEqual(['a tool']);
  });

  /** So many copies of an entry, each with its number as score, in no order. */
  const copy = async (count: number) => {
    const { rows } = await database.current.pool.query<{ name: string }>(
      `select column_name as name from information_schema.columns where table_schema = 'x402'
        and table_name = 'catalogue_entries' and column_name not in ('id', 'search', 'score')`,
    );
    const others = rows.map(({ name }) => name).join(', ');
    await database.current.pool.query(
      `insert into x402.catalogue_entries (id, score, ${others})
        select sha256(n::text::bytea), n, ${others} from x402.catalogue_entries, generate_series(1, $1) n
        order by md5(n::text)`,
      [count],
    );
  };

  it('finds of a word that all have those of the highest score', async () => {
    await writer().update([aLesson({ description: 'an api' })]);
    await copy(1200);
    const { entries } = await search('api', {}, 0, 3);
    expect(entries.map(({ position }) => position.score)).toEqual([1200, 1199, 1198]);
    const further = await search('api', {}, 3, 2);
    expect(further.entries.map(({ position }) => position.score)).toEqual([1197, 1196]);
  });

  it('counts a thousand and no more, and is read to its end all the same', async () => {
    await writer().update([aLesson()]);
    await copy(1200);
    const discovery = new Discovery(
      { allow: new Set<string>(), expiryMs: 400 * 86_400_000 },
      { now: () => NOON },
      new PostgresCatalogueReader(database.current.db),
    );
    const totals: number[] = [];
    let read = 0;
    // As a client reads that goes by the number alone.
    for (let total = 1; read < total;) {
      const answer = await discovery.list(Object.assign(new ListQueryDto(), { offset: read }), 2);
      const { pagination } = answer as { readonly pagination: { readonly total: number } };
      total = pagination.total;
      totals.push(total);
      read += (answer.items as readonly unknown[]).length;
    }
    expect(read).toBe(1201);
    expect([totals[0], totals.at(-1)]).toEqual([1000, 1201]);
  });

  it('forgets the words of what is not there any more', async () => {
    await writer().update([
      aLesson({ description: "old words \\ l'eau 42" }, { at: NOON }),
      aLesson({ description: 'other', resource: 'https://shop.example.com/b' }),
    ]);
    const words = async () => {
      const { rows } = await database.current.pool.query<{ word: string }>(
        'select word from x402.catalogue_words order by word',
      );
      return rows.map(({ word }) => word);
    };
    expect(await words()).toEqual(expect.arrayContaining(['eau', 'old', 'other', 'words']));
    expect(await words()).not.toContain('42');
    await writer().forget(new Date(0));
    expect(await words()).toContain('eau');
    await writer().update([aLesson({ description: 'new words' }, { at: NOON + 1 })]);
    await writer().forget(new Date(0));
    expect(await words()).toEqual(expect.arrayContaining(['new', 'words', 'other']));
    expect(await words()).not.toContain('old');
  });

  it('says that it finds whole words alone, where it has none', async () => {
    await writer().update([aLesson({ description: 'Weather of every city' })]);
    await database.current.pool.query('drop extension pg_trgm cascade');
    expect(await search('wether')).toEqual({ entries: [], method: 'text' });
    expect((await search('weather')).entries).toHaveLength(1);
  });

  it('learns what it can, beside what no index takes', async () => {
    const endless = `https://shop.example.com/${randomBytes(10_000).toString('hex')}`;
    const lessons = [
      aLesson({ resource: endless }),
      aLesson({ description: 'good' }, { at: NOON + 1 }),
    ];
    expect(await writer().update(lessons)).toEqual({ listed: 1, refused: 1 });
    expect(await writer().update(lessons.slice(0, 1))).toEqual({ listed: 0, refused: 1 });
  });

  it('knows what no payment lists: what is taken back, or denied', async () => {
    const resource = 'https://shop.example.com/gone';
    await writer().update([aLesson({ resource })]);
    await new PostgresStatements(database.current.db).write({
      action: 'remove',
      chainId: 56,
      payTo: PAYEE,
      type: 'http',
      resource,
      call: 'GET',
      words: {},
      issuedAt: NOON,
      endsAt: undefined,
    });
    await database.current.pool.query(
      `insert into x402.catalogue_denials (kind, value) values ('host', 'bad.example.com'), ('payee', $1)`,
      [OTHER_PAYEE],
    );
    const { removed, denied } = await new PostgresRefusals(database.current.db).standing();
    expect([...removed.values()]).toEqual([Infinity]);
    expect([...denied].sort()).toEqual([OTHER_PAYEE, 'bad.example.com']);
  });

  it('learns from two processes at once', async () => {
    const lessons = Array.from({ length: 20 }, (_, n) =>
      aLesson({ description: `the ${n}th` }, { at: NOON + n }),
    );
    await Promise.all(lessons.map((lesson) => writer().update([lesson])));
    const [entry] = await new PostgresCatalogueReader(database.current.db).page(
      { since: new Date(0) },
      { offset: 0 },
      9,
    );
    expect(entry?.listing.description).toBe('the 19th');
  });

  it('knows of claims what the history knows', async () => {
    const archive = new PostgresArchive(
      database.current,
      { history: { migrates: true, months: undefined } },
      { now: () => CLAIMED_AT },
    );
    await archive.open();
    const epoch = await archive.epochNumber({ chainId: 56, epoch: 'first' });
    const states = ['queued', 'broadcast', 'included', 'finalized', 'reverted', 'foreign'] as const;
    await archive.store(
      56,
      epoch,
      states.map((state, n) => ({
        kind: 'recorded',
        id: idOf(state),
        version: { ms: 1, sequence: n },
        settlement: aRecorded(state, state),
      })),
    );
    const ids = [...states, 'unheard of'].map(idOf);
    const outcomes = await writer().outcomes(56, ids);
    expect(ids.map((id) => kindOf(outcomes.get(id)))).toEqual([
      'waiting',
      'waiting',
      'paid',
      'paid',
      'over',
      'over',
      'unknown',
    ]);
    expect((await writer().outcomes(97, ids)).size).toBe(0);
    expect(aPaid().isWorthless).toBe(false);
  });
});

const kindOf = (outcome: unknown): unknown =>
  typeof outcome === 'object' ? 'paid' : (outcome ?? 'unknown');
