import { checkTerms, type ListingRules } from '../../protocol/listing/check-terms.js';
import type { Listing } from '../../protocol/listing/listing.js';
import { isJsonObject } from '../../protocol/payment/wire-values.js';
import { type ListingCode, MEANINGS } from '../codes.js';

type Answer = Readonly<Record<string, unknown>>;

/**
 * Whether a payment for what a 402 says would be listed, and what is wrong where it would not. Nothing is fetched
 * and nothing is kept.
 *
 * @returns `undefined` for what is no 402.
 */
export function validate(body: unknown, rules: ListingRules): Answer | undefined {
  if (!isJsonObject(body) || !Array.isArray(body['accepts'])) return undefined;
  const version = body['x402Version'];
  if (version !== 1 && version !== 2) return undefined;
  const answer = (code: ListingCode, more: Answer = {}): Answer => ({
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

function shown(listing: Listing): Answer {
  return { ...listing, offer: undefined };
}
