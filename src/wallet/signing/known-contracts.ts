import { Inject, Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import { ChainRegistry } from '../../platform/chain/chain-registry.js';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import type { KnownContracts } from '../rules/decode-typed-data.js';
import { assetName } from '../rules/policy.js';
import { WALLET_SETTINGS } from '../wallet-tokens.js';

/** The tokens of the settings, on the served networks. */
@Injectable()
export class WalletContracts implements KnownContracts {
  readonly #tokens: ReadonlyMap<string, WalletAsset>;

  constructor(
    @Inject(WALLET_SETTINGS) { assets }: Pick<WalletConfig, 'assets'>,
    private readonly chains: ChainRegistry,
  ) {
    this.#tokens = new Map(
      assets.map((asset) => [assetName(asset.chainId, asset.address), asset] as const),
    );
  }

  token(chainId: number, address: Address): WalletAsset | undefined {
    return this.chains.served(chainId) && this.#tokens.get(assetName(chainId, address));
  }

  permit2Proxy(chainId: number): Address | undefined {
    return this.chains.served(chainId)?.schemeContracts.permit2Proxy;
  }
}
