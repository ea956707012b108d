import { zeroAddress } from 'viem';
import type { WalletConfig } from '../../platform/config/wallet-settings.js';
import { assetName } from './policy.js';

/** How amounts of an asset are shown, and parsed where they are written that way. */
export interface Unit {
  readonly symbol: string;
  readonly decimals: number;
}

/** An asset in the rules may be unknown to this deployment: most tokens have 18 decimals. */
export function unitOf(assets: WalletConfig['assets'], asset: string): Unit {
  const token = assets.find(({ chainId, address }) => assetName(chainId, address) === asset);
  if (token !== undefined) return token;
  return { symbol: asset.endsWith(zeroAddress) ? 'native coin' : 'unknown', decimals: 18 };
}
