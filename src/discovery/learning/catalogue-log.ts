import type { PinoLogger } from 'nestjs-pino';
import type { CatalogueObserver } from './catalogue-observer.js';

/** One line for an outage, and none of what sellers say. */
export function catalogueLog(logger: PinoLogger): CatalogueObserver {
  let isTold = false;
  return {
    learnt: (chainId, { listed, refused }) => {
      if (refused > 0)
        logger.info({ chainId, listed, refused }, 'some declarations are not listed');
    },
    troubled: (error) => {
      if (isTold) return;
      isTold = true;
      logger.error({ err: error }, 'the catalogue learns nothing now; what is declared waits');
    },
    recovered: () => {
      isTold = false;
      logger.info('the catalogue learns again');
    },
  };
}
