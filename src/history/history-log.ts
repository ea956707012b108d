import type { PinoLogger } from 'nestjs-pino';
import type { Secret } from '../platform/config/secret.js';
import { databaseProblem } from './database-problem.js';
import type { HistoryObserver } from './history-observer.js';

/** The archiver in the log: one line for an outage, not one for each try. */
export function historyLog(logger: PinoLogger, url: Secret<string> | undefined): HistoryObserver {
  let logged: string | undefined;
  return {
    opened: () => {
      if (logged === undefined) logger.info('the history is archived in PostgreSQL');
      else logger.info('the history is archived again');
      logged = undefined;
    },
    archived: (chainId, { unreadable, gone, expired, written }) => {
      logged = undefined;
      if (unreadable > 0) {
        logger.error(
          { chainId, unreadable },
          'some records could not be converted to archive rows and are stored unconverted',
        );
      }
      if (gone > 0)
        logger.warn({ chainId, gone }, 'records expired in Redis before they were archived');
      logger.debug({ chainId, written, expired }, 'settlements archived');
    },
    failed: (trouble, error) => {
      const what = trouble ?? 'fault';
      if (logged === what) return;
      logged = what;
      const problem = databaseProblem(url, error);
      const facts = problem === undefined ? { trouble, err: error } : { trouble, problem };
      logger.error(facts, 'cannot archive settlements in PostgreSQL; they stay in Redis');
    },
    left: (chainId, { left, unarchived }) => {
      if (left + unarchived === 0) return;
      logger.debug({ chainId, left, unarchived }, 'archived settlements were removed from Redis');
    },
    // Each has a line of its own.
    resolvedLost: () => undefined,
    // Counted; the archiver logs an outage.
    lookedUp: () => undefined,
  };
}
