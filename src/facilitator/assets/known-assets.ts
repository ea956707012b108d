import { Injectable } from '@nestjs/common';
import type { Address } from 'viem';
import type { AdmissionLists } from '../../platform/config/admission-settings.js';
import { AppConfig, type NetworkConfig } from '../../platform/config/app-config.js';
import type { BuiltInToken } from '../../platform/config/built-in-networks.js';
import type { LaneConfig } from '../../platform/config/lane-settings.js';

/** A token that this deployment knows before it has read the chain. */
export interface KnownAsset {
  readonly chainId: number;
  readonly asset: Address;
  readonly builtIn: BuiltInToken | undefined;
}

/** Every {@link KnownAsset} of this deployment. */
@Injectable()
export class KnownAssets {
  readonly all: readonly KnownAsset[];

  constructor(config: AppConfig) {
    this.all = config.networks.flatMap((network) => knownAssetsOf(network, config));
  }
}

/** Limit for each chain. Settings may name more tokens, and each of them is read in the background. */
const ASSETS_MAX = 64;

/** Settings that name assets in the form `eip155:56/0x…`. */
export interface AssetSettings {
  readonly lanes: Pick<LaneConfig, 'batchSafeAssets'>;
  readonly admission: Pick<AdmissionLists, 'assetsAllow' | 'assetsDeny' | 'minAmounts'>;
}

/** The tokens of one chain that are built in or named by settings, and are taken here. */
export function knownAssetsOf(
  { chainId, network, knownTokens }: NetworkConfig,
  { lanes, admission }: AssetSettings,
): readonly KnownAsset[] {
  const { assetsAllow, assetsDeny, minAmounts } = admission;
  const prefix = `${network}/`;
  const named = [...lanes.batchSafeAssets, ...(assetsAllow ?? []), ...minAmounts.keys()]
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length) as Address);
  const addresses = new Set([...knownTokens.map(({ address }) => address), ...named]);
  return [...addresses]
    .filter((asset) => !assetsDeny.has(prefix + asset))
    .filter((asset) => assetsAllow?.has(prefix + asset) !== false)
    .slice(0, ASSETS_MAX)
    .map((asset) => ({
      chainId,
      asset,
      builtIn: knownTokens.find(({ address }) => address === asset),
    }));
}
