import { describe, expect, it } from '@jest/globals';
import { probesContract } from '../../src/discovery/alive/probes-contract.builder.js';
import { aLesson, NOON } from '../../src/discovery/lesson.builder.js';
import { PostgresCatalogue } from '../../src/discovery/postgres/postgres-catalogue.js';
import { PostgresCatalogueReader } from '../../src/discovery/postgres/postgres-catalogue-reader.js';
import { PostgresProbes } from '../../src/discovery/postgres/postgres-probes.js';
import { freshDatabase } from '../support/fresh-database.js';

const database = freshDatabase();

function parts() {
  const writer = new PostgresCatalogue(database.current.db, { entriesPerPayee: 500 });
  const reader = new PostgresCatalogueReader(database.current.db);
  return {
    catalogue: {
      learn: (...args: Parameters<typeof writer.learn>) => writer.learn(...args),
      forget: (...args: Parameters<typeof writer.forget>) => writer.forget(...args),
      page: (...args: Parameters<typeof reader.page>) => reader.page(...args),
      standings: (...args: Parameters<typeof reader.standings>) => reader.standings(...args),
    },
    probes: new PostgresProbes(database.current.db),
    deny: async (kind: 'payee' | 'host', value: string) => {
      await database.current.pool.query(
        'insert into x402.catalogue_denials (kind, value) values ($1, $2)',
        [kind, value],
      );
    },
  };
}

probesContract('in PostgreSQL', () => Promise.resolve(parts()));

describe('a book of probes in PostgreSQL', () => {
  it('gives each of many hosts to one of many that ask at once', async () => {
    const { catalogue, probes } = parts();
    const hosts = Array.from({ length: 100 }, (_, n) => `s${n}.example.com`);
    await catalogue.learn(
      hosts.flatMap((host) =>
        ['a', 'b'].map((path) => aLesson({ resource: `https://${host}/${path}` })),
      ),
    );
    // Entries come while others are taken.
    const rounds = Array.from({ length: 12 }, async (_, n) => {
      const book = new PostgresProbes(database.current.db);
      await book.enrol(new Date(NOON + n), 60);
      return book.take(new Date(NOON + n), 30);
    });
    const given = (await Promise.all(rounds)).flat();
    const rest = await probes.take(new Date(NOON + 20), 200);
    expect([...given, ...rest].map(({ host }) => host).sort()).toEqual([...hosts].sort());
  });
});
