import type { BuiltInToken } from './built-in-networks.js';
import type { WalletAsset } from './wallet-settings.js';

/** A network, and the tokens that are built in for it. */
export interface NetworkTokens {
  readonly chainId: number;
  readonly knownTokens: readonly BuiltInToken[];
}

/** Tokens in doubt are left out: a wrong number of decimals would be a wrong limit. */
export function builtInAssets({ chainId, knownTokens }: NetworkTokens): WalletAsset[] {
  return knownTokens
    .filter(({ doubt }) => doubt === undefined)
    .map(({ address, symbol, decimals, methods, eip712 }) => ({
      chainId,
      address,
      symbol,
      decimals,
      methods,
      eip712,
    }));
}
