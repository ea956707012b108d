import type { Address } from 'viem';
import { z } from 'zod';
import { PERMIT2 } from '../../protocol/evm/contracts.js';
import { isUrl } from '../http/urls.js';
import { addressSetting, integerSetting } from './settings.js';
import type { WalletAsset } from './wallet-assets.js';

/** Settings of the file hub where agents keep files, spread into those of the wallet. */
export const WALLET_HUB_SETTINGS = {
  /** The hub's URL for the wallet and for bearers of its links. */
  WALLET_HUB_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
    .refine(isHubSite, 'must be a URL without a path, but for /api')
    .optional(),
  /** What that hub calls itself; without it `HUB_ADDRESS` of this deployment. */
  WALLET_HUB_ADDRESS: addressSetting.optional(),
  /** Of one file that is bought and saved there. */
  WALLET_SAVE_MAX_BYTES: integerSetting(1024, 1_073_741_824).default(67_108_864),
};

export interface WalletHubConfig {
  /** Without a path. */
  readonly url: string;
  /** Every signature names it: it is worth nothing at another hub. Lower case. */
  readonly address: Address;
  readonly saveMaxBytes: number;
}

type WalletHubSettings = z.infer<z.ZodObject<typeof WALLET_HUB_SETTINGS>> & {
  readonly HUB_ADDRESS?: Address | undefined;
};

/** @returns `undefined` where agents are offered no files. */
export function readWalletHub(
  settings: WalletHubSettings,
  assets: readonly WalletAsset[],
  problems: string[],
): WalletHubConfig | undefined {
  const { WALLET_HUB_URL: url, HUB_ADDRESS, WALLET_HUB_ADDRESS: address = HUB_ADDRESS } = settings;
  if (url === undefined) return undefined;
  if (address === undefined) {
    problems.push('WALLET_HUB_ADDRESS: is required with WALLET_HUB_URL, for signatures name it');
    return undefined;
  }
  // A custody provider may go by the contract that a signature names, and by nothing else of its domain.
  if (address === PERMIT2.toLowerCase() || assets.some((asset) => asset.address === address)) {
    problems.push('WALLET_HUB_ADDRESS: must not be a contract that payments are signed for');
  }
  return { url: new URL(url).origin, address, saveMaxBytes: settings.WALLET_SAVE_MAX_BYTES };
}

function isHubSite(text: string): boolean {
  if (!isUrl(text)) return false;
  const { origin, href } = new URL(text);
  return [`${origin}/`, `${origin}/api`, `${origin}/api/`].includes(href);
}
