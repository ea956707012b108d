import type { PinoLogger } from 'nestjs-pino';
import type { Secret } from '../platform/config/secret.js';
import { databaseProblem } from './database-problem.js';
import type { HistoryObserver } from './history-observer.js';

/** The archiver in the log: one line for each outage, not for each attempt. */
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
          'some settlements could not be converted to archive rows; the archive stores them unconverted',
        );
      }
      if (gone > 0)
        logger.warn(
          { chainId, gone },
          'settlement records expired in Redis before they were archived',
        );
      logger.debug({ chainId, written, expired }, 'settlements archived');
    },
    failed: (condition, error) => {
      const what = condition ?? 'fault';
      if (logged === what) return;
      logged = what;
      const problem = databaseProblem(url, error);
      const facts =
        problem === undefined
          ? { trouble: condition, err: error }
          : { trouble: condition, problem };
      logger.error(facts, 'cannot archive settlements in PostgreSQL; they stay in Redis');
    },
    evicted: (chainId, { evicted, unarchived }) => {
      if (evicted + unarchived === 0) return;
      logger.debug(
        { chainId, evicted, unarchived },
        'archived settlements were removed from Redis',
      );
    },
    // Lost settlements are logged by their own part.
    resolvedLost: () => undefined,
    // Look-ups are only counted; the archiver logs an outage.
    lookedUp: () => undefined,
  };
}
