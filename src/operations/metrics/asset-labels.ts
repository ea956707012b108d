import type { Address } from 'viem';
import type { AppConfig } from '../../platform/config/app-config.js';
import { assetNameOf } from '../../protocol/payment/accepted-payment.js';

/**
 * Limit of assets with their own label. Any token is served, so a label for each would let anybody create endless
 * series. The operator's assets come first, then the built-in ones.
 */
const NAMED_MAX = 32;

export const OTHER = 'other';

/** Limits the values of the label `asset`. */
export class AssetLabels {
  readonly #named: ReadonlySet<string>;

  /** @param names - assets as in settings (`eip155:56/0x…`), the most important first. */
  constructor(names: Iterable<string>) {
    this.#named = new Set([...new Set(names)].slice(0, NAMED_MAX));
  }

  static of({ admission, lanes, networks }: AppConfig): AssetLabels {
    return new AssetLabels([
      ...(admission.assetsAllow ?? []),
      ...admission.minAmounts.keys(),
      ...lanes.batchSafeAssets,
      ...networks.flatMap(({ chainId, knownTokens }) =>
        knownTokens.map(({ address }) => assetNameOf({ chainId, asset: address })),
      ),
    ]);
  }

  /** The token's address if it has its own label, otherwise `other`. */
  labelOf(chainId: number | undefined, asset: Address | undefined): string {
    if (chainId === undefined || asset === undefined) return OTHER;
    return this.#named.has(assetNameOf({ chainId, asset })) ? asset : OTHER;
  }
}
