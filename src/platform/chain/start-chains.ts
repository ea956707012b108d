import type { PinoLogger } from 'nestjs-pino';
import type { Address } from 'viem';
import type { AppConfig } from '../config/app-config.js';
import { fanOut } from '../observability/fan-out.js';
import { chainLog } from './chain-log.js';
import { ChainRegistry } from './chain-registry.js';
import { EvmChain } from './evm-chain.js';
import type { RpcObserver } from './rpc/rpc-observer.js';

/** Starts every network. An endpoint that does not answer is probed again every eight seconds. */
export async function startChains(
  config: AppConfig,
  logger: PinoLogger,
  observer: RpcObserver,
): Promise<ChainRegistry> {
  const rpcObserver = fanOut([observer], (method, error) => {
    logger.error({ method, err: error }, 'a handler of RPC events failed');
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

/** A built-in token that the connected chain lacks is not offered there; nothing else depends on it. */
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
