import { zeroAddress } from 'viem';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { assetName } from './policy.js';

/** How amounts of an asset are shown, and read where they are written as shown. */
export interface Unit {
  readonly symbol: string;
  readonly decimals: number;
}

/** An asset of rules need not be one of this deployment: 18 decimals are what most tokens have. */
export function unitOf(assets: WalletConfig['assets'], asset: string): Unit {
  const token = assets.find(({ chainId, address }) => assetName(chainId, address) === asset);
  if (token !== undefined) return token;
  return { symbol: asset.endsWith(zeroAddress) ? 'native coin' : 'unknown', decimals: 18 };
}
