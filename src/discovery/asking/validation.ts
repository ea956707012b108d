import { checkTerms, type ListingRules } from '../../protocol/listing/check-terms.js';
import type { Listing } from '../../protocol/listing/listing.js';
import { isJsonObject } from '../../protocol/payment/wire-values.js';
import { type ListingCode, MEANINGS } from '../codes.js';
import type { DiscoveryValidation } from './dto/discovery.response.js';

/**
 * Whether a payment for the offers of a 402 would be listed, and otherwise what is wrong. Nothing is fetched or stored.
 *
 * @returns `undefined` for a body that is not a 402 answer.
 */
export function validate(body: unknown, rules: ListingRules): DiscoveryValidation | undefined {
  if (!isJsonObject(body) || !Array.isArray(body['accepts'])) return undefined;
  const version = body['x402Version'];
  if (version !== 1 && version !== 2) return undefined;
  const answer = (
    code: ListingCode,
    more: Partial<DiscoveryValidation> = {},
  ): DiscoveryValidation => ({
    valid: code === 'would_be_listed',
    code,
    message: MEANINGS[code],
    x402Version: version,
    ...more,
  });
  const checked = checkTerms(version, body, rules);
  if (checked.kind === 'none') return answer('not_declared');
  if (checked.kind === 'fault') {
    const { code, path, expected } = checked.fault;
    return answer(code, { path, expected });
  }
  const { listing, notes, contradiction, unknownAsset } = checked;
  const more = { notes, listing: shown(listing) };
  if (unknownAsset !== undefined) return answer('asset_not_known', { path: unknownAsset, ...more });
  return answer('would_be_listed', {
    ...(contradiction && {
      path: contradiction.path,
      expected: `a value that its schema allows (keyword ${contradiction.keyword})`,
    }),
    ...more,
  });
}

function shown({ offer, ...listing }: Listing): Omit<Listing, 'offer'> {
  return listing;
}
