import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { connectDatabase, type Database } from '../../src/history/postgres/database.js';
import { migrate } from '../../src/history/postgres/migrator.js';
import { Secret } from '../../src/platform/config/secret.js';

/** Starts a PostgreSQL for the tests of a file, with empty tables and connections of its own for each of them. */
export function freshDatabase(): { readonly current: Database } {
  let postgres: SandboxPostgres;
  let current: Database;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(() => postgres.stop());
  beforeEach(async () => {
    current = connectDatabase(new Secret(postgres.url));
    await current.pool.query('drop schema if exists x402 cascade');
    await migrate(current.pool);
  });
  afterEach(() => current.db.destroy());
  return {
    get current() {
      return current;
    },
  };
}
