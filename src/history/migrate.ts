import { databaseUrlOf } from '../platform/config/history-settings.js';
import { ArchiveError } from './archive.js';
import { connectDatabase } from './postgres/database.js';
import { migrate } from './postgres/migrator.js';

/** `npm run migrate`: brings the tables of the history up to date, and prints the applied migrations. */
async function main(): Promise<number> {
  const given = databaseUrlOf();
  if ('problems' in given) {
    process.stderr.write(`${given.problems.join('\n')}\n`);
    return 1;
  }
  const { db, pool } = connectDatabase(given.url);
  try {
    const applied = await migrate(pool);
    process.stdout.write(
      applied.length === 0 ? 'The tables are up to date.\n' : `Applied ${applied.join(', ')}.\n`,
    );
    return 0;
  } catch (error) {
    const reason = error instanceof ArchiveError ? error.message : 'unexpected error';
    process.stderr.write(`The tables could not be brought up to date: ${reason}\n`);
    return 1;
  } finally {
    await db.destroy();
  }
}

process.exitCode = await main();
