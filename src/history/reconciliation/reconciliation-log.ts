import type { PinoLogger } from 'nestjs-pino';
import { caip2Of } from '../../protocol/payment/network.js';
import type { ReconciliationObserver } from './daily-reconciliation.js';
import { differencesIn } from './difference.js';

/** The daily runs in the log; what they found is in the database. */
export function reconciliationLog(logger: PinoLogger): ReconciliationObserver {
  return {
    finished: ({ chainId, blocks, settlements, counts }) => {
      const facts = {
        network: caip2Of(chainId),
        settlements,
        counts: Object.fromEntries(counts),
        ...(blocks !== undefined && { blocks: `${blocks.from} to ${blocks.to}` }),
      };
      if (differencesIn(counts) === 0)
        logger.info(facts, 'reconciliation: the ledger agrees with the chain');
      else
        logger.error(
          facts,
          'reconciliation: the ledger and the chain differ, or could not be compared',
        );
    },
    failed: (chainId, error) => {
      logger.error(
        { network: caip2Of(chainId), err: error },
        'reconciliation failed; it will be retried',
      );
    },
  };
}
