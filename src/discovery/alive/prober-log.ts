import type { PinoLogger } from 'nestjs-pino';
import type { ProberObserver } from './prober-observer.js';

/** One line for an outage, and none of what sellers answer. */
export function proberLog(logger: PinoLogger): ProberObserver {
  let isTold = false;
  return {
    probed: () => undefined,
    troubled: (error) => {
      if (isTold) return;
      isTold = true;
      logger.error({ err: error }, 'entries of the catalogue are not probed now');
    },
    recovered: () => {
      isTold = false;
      logger.info('entries of the catalogue are probed again');
    },
  };
}
