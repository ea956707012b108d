import type { Address } from 'viem';
import type { z } from 'zod';
import { PERMIT2 } from '../../protocol/evm/contracts.js';
import { isUrl } from '../http/urls.js';
import { addressSetting, HTTP_URL, integerSetting } from './settings.js';
import type { WalletAsset } from './wallet-assets.js';

/** Settings of the file hub for files of agents. */
export const WALLET_HUB_SETTINGS = {
  /** The hub's URL for the wallet and for bearers of its links. */
  WALLET_HUB_URL: HTTP_URL.refine(
    isHubSite,
    'must be a URL without a path other than /api',
  ).optional(),
  /** The address in signatures for the hub; by default `HUB_ADDRESS` of this deployment. */
  WALLET_HUB_ADDRESS: addressSetting.optional(),
  /** Maximum bytes of one bought file that is saved in the hub. */
  WALLET_SAVE_MAX_BYTES: integerSetting(1024, 1_073_741_824).default(67_108_864),
};

export interface WalletHubConfig {
  /** Without a path. */
  readonly url: string;
  /** Every signature names this address, so it is invalid at another hub. Lower case. */
  readonly address: Address;
  readonly saveMaxBytes: number;
}

type WalletHubSettings = z.infer<z.ZodObject<typeof WALLET_HUB_SETTINGS>> & {
  readonly HUB_ADDRESS?: Address | undefined;
};

/** @returns `undefined` if agents have no files. */
export function readWalletHub(
  settings: WalletHubSettings,
  assets: readonly WalletAsset[],
  problems: string[],
): WalletHubConfig | undefined {
  const { WALLET_HUB_URL: url, HUB_ADDRESS, WALLET_HUB_ADDRESS: address = HUB_ADDRESS } = settings;
  if (url === undefined) return undefined;
  if (address === undefined) {
    problems.push(
      'WALLET_HUB_ADDRESS: is required with WALLET_HUB_URL: signatures for the hub name this address',
    );
    return undefined;
  }
  // A custody provider may check only the contract in a signature, and no other part of its domain.
  if (address === PERMIT2.toLowerCase() || assets.some((asset) => asset.address === address)) {
    problems.push(
      'WALLET_HUB_ADDRESS: must not be a contract of the payments, because the wallet signs for this address',
    );
  }
  return { url: new URL(url).origin, address, saveMaxBytes: settings.WALLET_SAVE_MAX_BYTES };
}

function isHubSite(text: string): boolean {
  if (!isUrl(text)) return false;
  const { origin, href } = new URL(text);
  return [`${origin}/`, `${origin}/api`, `${origin}/api/`].includes(href);
}
