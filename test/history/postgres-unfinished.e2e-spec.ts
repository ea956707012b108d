import { afterAll, beforeAll, describe } from '@jest/globals';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { connectDatabase } from '../../src/history/postgres/database.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import { PostgresArchiveReader } from '../../src/history/postgres/postgres-archive-reader.js';
import { PostgresUnfinished } from '../../src/history/postgres/postgres-unfinished.js';
import { Secret } from '../../src/platform/config/secret.js';
import { ARCHIVE_NOW } from '../twins/history/archive-contract.js';
import { describeUnfinished } from '../twins/history/lost/unfinished-contract.js';

describe('unfinished settlements in PostgreSQL', () => {
  let postgres: SandboxPostgres;

  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());

  describeUnfinished('settlements in PostgreSQL', async () => {
    const database = connectDatabase(new Secret(postgres.url));
    await database.pool.query('drop schema if exists x402 cascade');
    return {
      archive: new PostgresArchive(
        database,
        { history: { migrates: true, months: undefined } },
        { now: () => ARCHIVE_NOW },
      ),
      reader: new PostgresArchiveReader(database),
      unfinished: new PostgresUnfinished(database),
      close: () => database.db.destroy(),
    };
  });
});
