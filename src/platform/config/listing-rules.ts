import type { ListingRules } from '../../protocol/listing/check-terms.js';
import type { AppConfig } from './app-config.js';

/** Rules of the catalogue: tokens that are built in or in settings, and public hosts. */
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
