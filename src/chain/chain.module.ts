import { Global, Module, type OnModuleDestroy } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import { AppConfig, type NetworkConfig } from '../config/app-config.js';
import { ChainRegistry } from './chain-registry.js';
import { type ChainObserver, EvmChain } from './evm-chain.js';
import { RpcObserver } from './rpc/rpc-observer.js';

/** Starts every network. What does not answer now is probed again every ten seconds. */
async function startChains(
  config: AppConfig,
  logger: PinoLogger,
  observer: RpcObserver,
): Promise<ChainRegistry> {
  const chains = config.networks.map(
    (network) => new EvmChain(network, observer, chainLog(network, logger)),
  );
  await Promise.all(chains.map((chain) => chain.start()));
  await Promise.all(chains.map((chain) => warnOfMissingTokens(chain, logger)));
  return new ChainRegistry(chains);
}

function chainLog(
  { network, usesPublicEndpoints }: NetworkConfig,
  logger: PinoLogger,
): ChainObserver {
  if (usesPublicEndpoints) {
    logger.warn(
      { network },
      'public RPC endpoints are for trying out: they are rate-limited and some have no logs; set RPC_URLS',
    );
  }
  return {
    endpointChanged: ({ endpoint, what }) => {
      logger[what === 'reachable' ? 'info' : 'warn']({ network, endpoint, what }, 'RPC endpoint');
    },
    contractFound: (contract, isPresent) => {
      if (!isPresent) logger.warn({ network, contract }, 'contract is not deployed on this chain');
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
          'built-in token is not on this chain and is left out',
        );
      } catch {
        // The network does not answer; its endpoints are reported already.
      }
    }),
  );
}

@Global()
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
