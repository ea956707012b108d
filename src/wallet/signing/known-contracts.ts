import type { Address } from 'viem';
import type { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import type { KnownContracts } from '../rules/decode-typed-data.js';
import { assetName } from '../rules/policy.js';

/** The tokens of the settings, on the networks that are served now. */
export function knownContracts(
  assets: readonly WalletAsset[],
  chains: ChainRegistry,
): KnownContracts {
  const tokens = new Map(
    assets.map((asset) => [assetName(asset.chainId, asset.address), asset] as const),
  );
  return {
    token: (chainId, address) => chains.served(chainId) && tokens.get(assetName(chainId, address)),
    permit2Proxy: (chainId): Address | undefined =>
      chains.served(chainId)?.schemeContracts.permit2Proxy,
  };
}
