import type { Listing, ReadDeclaration } from '../../protocol/listing/listing.js';
import { readDeclared, readOffer } from '../../protocol/listing/read-declaration.js';
import type { AllowedHosts } from '../../protocol/listing/resource-url.js';
import { chainIdOf, chainIdOfV1Name } from '../../protocol/payment/network.js';
import { isJsonObject, type JsonObject, readAddress } from '../../protocol/payment/wire-values.js';
import { type ListingCode, MEANINGS } from '../codes.js';

export interface ValidationRules {
  readonly allow: AllowedHosts;
  /** `eip155:56/0x…` */
  readonly isKnownAsset: (asset: string) => boolean;
}

type Answer = Readonly<Record<string, unknown>>;

/** More are not looked at. */
const OFFERS_MAX = 16;

/**
 * Whether a payment for what a 402 says would be listed, and what is wrong where it would not. Nothing is fetched
 * and nothing is kept.
 *
 * @returns `undefined` for what is no 402.
 */
export function validate(body: unknown, rules: ValidationRules): Answer | undefined {
  if (!isJsonObject(body) || !Array.isArray(body['accepts'])) return undefined;
  const offers = body['accepts'].slice(0, OFFERS_MAX).filter(isJsonObject);
  const version = body['x402Version'];
  if (version !== 1 && version !== 2) return undefined;
  const read =
    version === 2
      ? readDeclared(body, offers[0] ?? {}, rules.allow)
      : firstOf(offers.map((offer, n) => readOffer(offer, rules.allow, `accepts[${n}].`)));
  return answerOf(
    version,
    read,
    offers.map((offer, n) => assetFault(offer, n, version, rules)),
  );
}

/** A seller of V1 declares in each of its offers. */
function firstOf(read: readonly ReadDeclaration[]): ReadDeclaration {
  const listed = read.find(({ kind }) => kind === 'listing');
  return listed ?? read.find(({ kind }) => kind === 'fault') ?? { kind: 'none' };
}

function assetFault(
  { network, asset }: JsonObject,
  n: number,
  version: 1 | 2,
  { isKnownAsset }: ValidationRules,
): string | undefined {
  const named = typeof network === 'string' ? network : '';
  const chainId = version === 1 ? chainIdOfV1Name(named) : chainIdOf(named);
  const isKnown = isKnownAsset(`eip155:${chainId ?? 0}/${readAddress(asset) ?? ''}`);
  return isKnown ? undefined : `accepts[${n}].asset`;
}

function answerOf(
  x402Version: 1 | 2,
  read: ReadDeclaration,
  assets: readonly (string | undefined)[],
): Answer {
  const said = (code: ListingCode, more: Answer = {}): Answer => ({
    valid: code === 'would_be_listed',
    code,
    message: MEANINGS[code],
    x402Version,
    ...more,
  });
  if (read.kind === 'none') return said('not_declared');
  if (read.kind === 'fault') {
    const { code, path, expected } = read.fault;
    return said(code, { path, expected });
  }
  const more = { notes: read.notes, listing: shown(read.listing) };
  const unknown = assets.filter((path) => path !== undefined);
  // One offer that lists it is enough.
  if (unknown.length === assets.length) {
    return said('asset_not_known', { path: unknown[0] ?? 'accepts', ...more });
  }
  return said('would_be_listed', more);
}

function shown(listing: Listing): Answer {
  return { ...listing, offer: undefined };
}
