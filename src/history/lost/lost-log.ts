import type { PinoLogger } from 'nestjs-pino';
import { caip2Of } from '../../protocol/payment/network.js';
import { isOutage, type LostObserver } from './lost-settlements.js';

/** Ends that the chain has said instead of a lost ledger. */
export function lostLog(logger: PinoLogger): LostObserver {
  return {
    judged: (chainId, settlementId, outcome) => {
      logger.warn(
        { network: caip2Of(chainId), settlementId, outcome },
        'a settlement that the ledger has lost was looked for on the chain',
      );
    },
    failed: (chainId, error) => {
      const facts = { network: caip2Of(chainId), err: error };
      // Redis, PostgreSQL and endpoints that are away are told of by others.
      if (isOutage(error)) logger.debug(facts, 'lost settlements cannot be looked for now');
      else logger.error(facts, 'lost settlements were not looked for; it is tried again');
    },
  };
}
