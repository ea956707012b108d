import type { Address } from 'viem';
import type { TransferMethod } from '../../protocol/evm/transfer-method.js';
import type { BuiltInToken } from './built-in-networks.js';

/** A token that the wallet can pay with: its decimals, and the domain of its signatures. */
export interface WalletAsset {
  readonly chainId: number;
  /** Lower case. */
  readonly address: Address;
  readonly symbol: string;
  readonly decimals: number;
  readonly methods: readonly TransferMethod[];
  /** EIP-712 domain, if the token supports EIP-3009. */
  readonly eip712: { readonly name: string; readonly version: string } | undefined;
}

/** A network and its built-in tokens. */
export interface NetworkTokens {
  readonly chainId: number;
  readonly knownTokens: readonly BuiltInToken[];
}

/** Tokens with a doubt are left out, because wrong decimals would be a wrong limit. */
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
