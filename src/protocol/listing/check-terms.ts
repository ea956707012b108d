import { chainIdOf, chainIdOfV1Name } from '../payment/network.js';
import {
  isJsonObject,
  type JsonObject,
  readAddress,
  readOptionalObject,
} from '../payment/wire-values.js';
import { isReadableInfo, isReadableSchema } from './declared-info.js';
import type { Fault, Listing, ListingNote, ReadDeclaration } from './listing.js';
import { BAZAAR, readDeclared, readOffer } from './read-declaration.js';
import type { AllowedHosts } from './resource-url.js';
import { type Contradiction, contradictionOf } from './schema-fit.js';

/** The rules of what a catalogue lists. */
export interface ListingRules {
  readonly allow: AllowedHosts;
  /** `eip155:56/0x…`: tokens that anybody makes are paid with for nothing. */
  readonly isKnownAsset: (asset: string) => boolean;
}

/** The listing that a payment for the terms of a 402 would make. */
type CheckedTerms =
  /** Nothing was declared, or the seller does not want to be found. */
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly fault: Fault }
  | {
      readonly kind: 'listing';
      readonly listing: Listing;
      readonly notes: readonly ListingNote[];
      /** Where `info` is not what its own schema demands: it is listed all the same, elsewhere it is not. */
      readonly contradiction: Contradiction | undefined;
      /** Of the first offer, where none is in a token that is known. */
      readonly unknownAsset: string | undefined;
    };

/** More are not looked at. */
const OFFERS_MAX = 16;

/**
 * Judges the terms of a 402 as the catalogue will judge them in a payment, and holds `info` against its schema.
 * Bounded in time and size, whatever came.
 *
 * @param sent - of the version; paths of what is wrong begin in it.
 */
export function checkTerms(version: 1 | 2, sent: JsonObject, rules: ListingRules): CheckedTerms {
  const accepts: readonly unknown[] = Array.isArray(sent['accepts']) ? sent['accepts'] : [];
  const offers = accepts.slice(0, OFFERS_MAX).filter(isJsonObject);
  const read =
    version === 2
      ? readDeclared(sent, offers[0] ?? {}, rules.allow)
      : firstOf(offers.map((offer, n) => readOffer(offer, rules.allow, `accepts[${n}].`)));
  if (read.kind === 'none') return { kind: 'none' };
  if (read.kind === 'fault') return { kind: 'fault', fault: read.fault };
  const held = version === 2 ? holdInfo(sent, read.listing) : {};
  const unknown = offers.map((offer, n) => unknownAssetOf(offer, n, version, rules));
  return {
    kind: 'listing',
    listing: read.listing,
    notes: [...new Set([...read.notes, ...(held.note === undefined ? [] : [held.note])])].sort(),
    contradiction: held.contradiction,
    // One offer that lists it is enough.
    unknownAsset: unknown.includes(undefined) ? undefined : (unknown[0] ?? 'accepts'),
  };
}

/** A seller of V1 declares in each of its offers. */
function firstOf(read: readonly ReadDeclaration[]): ReadDeclaration {
  const listed = read.find(({ kind }) => kind === 'listing');
  return listed ?? read.find(({ kind }) => kind === 'fault') ?? { kind: 'none' };
}

interface Held {
  readonly note?: ListingNote;
  readonly contradiction?: Contradiction;
}

/** The check that the extension demands of every catalogue: others drop a declaration that does not pass. */
function holdInfo({ extensions }: JsonObject, { method }: Listing): Held {
  const bazaar = readOptionalObject(readOptionalObject(extensions)?.[BAZAAR]);
  const info = readOptionalObject(bazaar?.['info']);
  const schema = readOptionalObject(bazaar?.['schema']);
  if (schema === undefined) return { note: 'schema_missing' };
  if (info === undefined || !isReadableInfo(info) || !isReadableSchema(schema)) return {};
  // A declaration has no method before the server middleware adds it; a note says so by itself.
  const input = readOptionalObject(info['input']);
  const whole = method === undefined ? info : { ...info, input: { method, ...input } };
  const contradiction = contradictionOf(whole, schema, `extensions.${BAZAAR}.info`);
  return contradiction === undefined ? {} : { note: 'info_not_of_schema', contradiction };
}

function unknownAssetOf(
  { network, asset }: JsonObject,
  n: number,
  version: 1 | 2,
  { isKnownAsset }: ListingRules,
): string | undefined {
  const named = typeof network === 'string' ? network : '';
  const chainId = version === 1 ? chainIdOfV1Name(named) : chainIdOf(named);
  const isKnown = isKnownAsset(`eip155:${chainId ?? 0}/${readAddress(asset) ?? ''}`);
  return isKnown ? undefined : `accepts[${n}].asset`;
}
