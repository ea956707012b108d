import { Module, type OnModuleDestroy } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import type { Address } from 'viem';
import { AppConfig, type NetworkConfig } from '../config/app-config.js';
import { fanOut } from '../observability/fan-out.js';
import type { ChainObserver } from './chain-observer.js';
import { ChainRegistry } from './chain-registry.js';
import { EvmChain } from './evm-chain.js';
import { RpcObserver } from './rpc/rpc-observer.js';

/** Starts every network. What does not answer now is probed again every ten seconds. */
async function startChains(
  config: AppConfig,
  logger: PinoLogger,
  observer: RpcObserver,
): Promise<ChainRegistry> {
  const rpcObserver = fanOut([observer], (method, error) => {
    logger.error({ method, err: error }, 'an RPC event handler failed');
  });
  const chains = config.networks.map(
    (network) => new EvmChain(network, { rpcObserver, observer: chainLog(network, logger) }),
  );
  for (const chain of chains) chain.trust(tokensOf(chain, config.lanes.batchSafeAssets));
  await Promise.all(chains.map((chain) => chain.start()));
  await Promise.all(chains.map((chain) => warnOfMissingTokens(chain, logger)));
  return new ChainRegistry(chains);
}

/** @param assets - `eip155:56/0x…`. */
function tokensOf({ config }: EvmChain, assets: ReadonlySet<string>): Address[] {
  const prefix = `${config.network}/`;
  return [...assets]
    .filter((asset) => asset.startsWith(prefix))
    .map((asset) => asset.slice(prefix.length) as Address);
}

export function chainLog(
  { chainId, network, usesPublicEndpoints, rpcUrls }: NetworkConfig,
  logger: Pick<PinoLogger, 'info' | 'warn' | 'error'>,
): ChainObserver {
  const setting = `RPC_URLS_${chainId}`;
  if (usesPublicEndpoints) {
    logger.warn(
      { network },
      `public RPC endpoints are rate-limited and some keep no logs: for production set ${setting}`,
    );
  }
  return {
    endpointChanged: (change) => {
      const { endpoint, what, servedChainId, ability } = change;
      const isGood = what === 'reachable' || what === 'answers_again';
      const place = Number(endpoint.slice(endpoint.lastIndexOf('-') + 1));
      // Without user, path and query: keys are often there.
      const host = URL.parse(rpcUrls[place]?.reveal() ?? '')?.host ?? endpoint;
      const details = {
        wrong_chain: `serves chain ${servedChainId}, expected ${chainId}`,
        unreachable: 'is unreachable',
        reachable: 'is reachable again',
        no_logs: 'does not answer eth_getLogs',
        cannot_answer: `cannot answer: ${ability}`,
        answers_again: `answers again: ${ability}`,
      }[what];
      const facts = { network, endpoint, what, ...(ability !== undefined && { ability }) };
      logger[isGood ? 'info' : 'warn'](facts, `${setting}: ${host} ${details}`);
    },
    contractFound: (contract, isPresent) => {
      if (!isPresent)
        logger.warn(
          { network, contract },
          'a contract is not deployed on this chain: the methods that need it are off',
        );
    },
    endpointsDisagree: (what) => {
      logger.error({ network, what }, 'RPC endpoints disagree: one of them is wrong');
    },
  };
}

/** A built-in token that the connected chain lacks is of no use there; nothing else depends on it. */
async function warnOfMissingTokens(chain: EvmChain, logger: PinoLogger): Promise<void> {
  await Promise.all(
    chain.config.knownTokens.map(async ({ symbol, address }) => {
      try {
        const isPresent = await chain.withView((view) => view.isContract(address));
        if (isPresent) return;
        logger.warn(
          { network: chain.config.network, symbol, address },
          'a built-in token does not exist on this chain and is not offered',
        );
      } catch {
        // The network does not answer; its endpoints are reported already.
      }
    }),
  );
}

@Module({
  providers: [
    {
      provide: ChainRegistry,
      inject: [AppConfig, PinoLogger, RpcObserver],
      useFactory: startChains,
    },
  ],
  exports: [ChainRegistry],
})
export class ChainModule implements OnModuleDestroy {
  constructor(private readonly chains: ChainRegistry) {}

  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.chains.all.map((chain) => chain.close()));
  }
}
