import type { PinoLogger } from 'nestjs-pino';
import type { Secret } from '../platform/config/secret.js';
import { ArchiveError } from './archive.js';
import { databaseProblem } from './database-problem.js';
import type { TablesObserver } from './history-tables.js';

/** For processes in which nothing makes the tables, and so nothing else tells of it. */
export function tablesLog(logger: PinoLogger, url: Secret<string> | undefined): TablesObserver {
  return {
    waits: (state) => {
      const what = state === 'missing' ? 'has no tables yet' : 'has tables of another version';
      logger.info(
        `PostgreSQL ${what}: waiting until the role history or \`npm run migrate\` has made them`,
      );
    },
    found: () => {
      logger.info('the PostgreSQL tables are ready');
    },
    failed: (error) => {
      const known = error instanceof ArchiveError ? error : undefined;
      logger.warn(
        { trouble: known?.condition, code: known?.sqlState, problem: databaseProblem(url, error) },
        'cannot reach PostgreSQL to check its tables; retrying',
      );
    },
  };
}
