import type { ListingRules } from '../../protocol/listing/check-terms.js';
import type { AppConfig } from './app-config.js';

/** What the catalogue of this deployment lists: tokens that are built in or named by settings, of hosts that anybody reaches. */
export function listingRulesOf({ history, networks, lanes, admission }: AppConfig): ListingRules {
  const assets = new Set([
    ...networks.flatMap(({ network, knownTokens }) =>
      knownTokens.map(({ address }) => `${network}/${address}`),
    ),
    ...lanes.batchSafeAssets,
    ...(admission.assetsAllow ?? []),
    ...admission.minAmounts.keys(),
  ]);
  return {
    allow: history?.catalogue?.allow ?? new Set(),
    isKnownAsset: (asset) => assets.has(asset),
  };
}
