import type { PinoLogger } from 'nestjs-pino';
import { caip2Of } from '../../protocol/payment/network.js';
import { isOutage, type LostObserver } from './lost-settlements.js';

/** Ends that the chain has said instead of a lost ledger. */
export function lostLog(logger: PinoLogger): LostObserver {
  return {
    judged: (chainId, settlementId, outcome) => {
      logger.warn(
        { network: caip2Of(chainId), settlementId, outcome },
        'searched the chain for a settlement that is missing from the ledger',
      );
    },
    failed: (chainId, error) => {
      const facts = { network: caip2Of(chainId), err: error };
      // Other parts report an outage of Redis, PostgreSQL and endpoints.
      if (isOutage(error)) logger.debug(facts, 'cannot search for lost settlements now');
      else logger.error(facts, 'the search for lost settlements failed; it will be retried');
    },
  };
}
