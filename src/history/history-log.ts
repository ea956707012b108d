import type { PinoLogger } from 'nestjs-pino';
import type { HistoryObserver } from './history-observer.js';

/** The archiver in the log: one line for an outage, not one for each try. */
export function historyLog(logger: PinoLogger): HistoryObserver {
  let told: string | undefined;
  return {
    opened: () => {
      if (told === undefined) logger.info('the history is archived in PostgreSQL');
      else logger.info('the history is archived again');
      told = undefined;
    },
    archived: (chainId, { unreadable, gone, expired, written }) => {
      told = undefined;
      if (unreadable > 0) {
        logger.error(
          { chainId, unreadable },
          'records that no row can be made of are kept as they are',
        );
      }
      if (gone > 0)
        logger.warn({ chainId, gone }, 'records had ended their life before they were archived');
      logger.debug({ chainId, written, expired }, 'settlements archived');
    },
    failed: (trouble, error) => {
      const what = trouble ?? 'fault';
      if (told === what) return;
      told = what;
      logger.error({ trouble, err: error }, 'settlements are not archived now; they wait in Redis');
    },
    left: (chainId, { left, unarchived }) => {
      if (left + unarchived === 0) return;
      logger.debug({ chainId, left, unarchived }, 'settlements left Redis');
    },
    // Each has a line of its own.
    judgedLost: () => undefined,
    // Counted; an outage is told by the archiver.
    lookedUp: () => undefined,
  };
}
