import type { Address } from 'viem';
import type { TransferMethod } from '../../protocol/evm/transfer-method.js';
import type { BuiltInToken } from './built-in-networks.js';

/** A token the wallet knows: what it is worth in decimals, and how it is signed for. */
export interface WalletAsset {
  readonly chainId: number;
  /** Lower case. */
  readonly address: Address;
  readonly symbol: string;
  readonly decimals: number;
  readonly methods: readonly TransferMethod[];
  /** EIP-712 domain, where the token has EIP-3009. */
  readonly eip712: { readonly name: string; readonly version: string } | undefined;
}

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
