import type { PinoLogger } from 'nestjs-pino';
import type { NetworkConfig } from '../config/app-config.js';
import type { ChainObserver } from './chain-observer.js';

export function chainLog(
  { chainId, network, usesPublicEndpoints, rpcUrls }: NetworkConfig,
  logger: Pick<PinoLogger, 'info' | 'warn' | 'error'>,
): ChainObserver {
  const setting = `RPC_URLS_${chainId}`;
  const hostOf = (endpoint: string): string => {
    const place = Number(endpoint.slice(endpoint.lastIndexOf('-') + 1));
    // Without user, path and query: keys are often there.
    return URL.parse(rpcUrls[place]?.reveal() ?? '')?.host ?? endpoint;
  };
  if (usesPublicEndpoints) {
    logger.warn(
      { network },
      `public RPC endpoints limit requests, and some keep no logs: for production set ${setting}`,
    );
  }
  return {
    endpointChanged: (change) => {
      const { endpoint, what, servedChainId, ability } = change;
      const isGood = what === 'reachable' || what === 'answers_again';
      const details = {
        wrong_chain: `serves chain ${servedChainId}, expected ${chainId}`,
        unreachable: 'is unreachable',
        reachable: 'is reachable again',
        no_logs: 'does not answer eth_getLogs',
        cannot_answer: `cannot answer: ${ability}`,
        answers_again: `answers again: ${ability}`,
      }[what];
      const facts = { network, endpoint, what, ...(ability !== undefined && { ability }) };
      logger[isGood ? 'info' : 'warn'](facts, `${setting}: ${hostOf(endpoint)} ${details}`);
    },
    contractFound: (contract, isPresent) => {
      if (!isPresent)
        logger.warn(
          { network, contract },
          'a contract is not deployed on this chain: the methods that need it are off',
        );
    },
    endpointsDisagree: (what, statements) => {
      const answers = statements.map(({ endpoint, answer }) => ({
        endpoint,
        host: hostOf(endpoint),
        answer,
      }));
      logger.error(
        { network, setting, what, answers },
        'RPC endpoints disagree: one of them is wrong',
      );
    },
    endpointsAgree: (what, times) => {
      logger.info({ network, setting, what, times }, 'RPC endpoints agree again');
    },
  };
}
