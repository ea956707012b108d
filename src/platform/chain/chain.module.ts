import { Global, Module, type OnModuleDestroy } from '@nestjs/common';
import { PinoLogger } from 'nestjs-pino';
import type { Address } from 'viem';
import { AppConfig, type NetworkConfig } from '../config/app-config.js';
import { fanOut } from '../observability/fan-out.js';
import type { ChainObserver } from './chain-observer.js';
import { chainIdOf } from '../../protocol/payment/network.js';
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

function chainLog(
  { network, usesPublicEndpoints }: NetworkConfig,
  logger: PinoLogger,
): ChainObserver {
  if (usesPublicEndpoints) {
    logger.warn(
      { network },
      `public RPC endpoints are rate-limited and some keep no logs: for production set RPC_URLS_${chainIdOf(network)}`,
    );
  }
  return {
    endpointChanged: (change) => {
      const isGood = change.what === 'reachable' || change.what === 'answers_again';
      logger[isGood ? 'info' : 'warn']({ network, ...change }, 'RPC endpoint');
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
