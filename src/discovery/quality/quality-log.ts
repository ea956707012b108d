import type { PinoLogger } from 'nestjs-pino';
import type { RaterParts } from './rater.js';

/** One line for an outage. */
export function qualityLog(logger: PinoLogger): RaterParts['observer'] {
  let isTold = false;
  return {
    troubled: (error) => {
      if (isTold) return;
      isTold = true;
      logger.error({ err: error }, 'entries of the catalogue are not rated now');
    },
    recovered: () => {
      isTold = false;
      logger.info('entries of the catalogue are rated again');
    },
  };
}
