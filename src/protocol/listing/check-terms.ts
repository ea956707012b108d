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

/** The rules of the entries of a catalogue. */
export interface ListingRules {
  readonly allow: AllowedHosts;
  /** Known assets (`eip155:56/0x…`). Payments in a token that anyone can create cost nothing, so they list nothing. */
  readonly isKnownAsset: (asset: string) => boolean;
}

/** The listing that a payment for the terms of a 402 would create. */
type CheckedTerms =
  /** Nothing is declared, or the seller does not want to be listed. */
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly fault: Fault }
  | {
      readonly kind: 'listing';
      readonly listing: Listing;
      readonly notes: readonly ListingNote[];
      /** Set if `info` does not match its own schema. This service lists it, other catalogues do not. */
      readonly contradiction: Contradiction | undefined;
      /** The token of the first offer, if no offer is in a known token. */
      readonly unknownAsset: string | undefined;
    };

/** Further offers are ignored. */
const OFFERS_MAX = 16;

/**
 * Checks the terms of a 402 like the catalogue checks a payment, and `info` against its schema. Bounded in time and
 * size.
 *
 * @param sent - in the form of the version; paths of findings start here.
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
    // One offer in a known token is enough for a listing.
    unknownAsset: unknown.includes(undefined) ? undefined : (unknown[0] ?? 'accepts'),
  };
}

/** A seller of V1 declares in each offer. */
function firstOf(read: readonly ReadDeclaration[]): ReadDeclaration {
  const listed = read.find(({ kind }) => kind === 'listing');
  return listed ?? read.find(({ kind }) => kind === 'fault') ?? { kind: 'none' };
}

interface Held {
  readonly note?: ListingNote;
  readonly contradiction?: Contradiction;
}

/** The check that the extension requires of every catalogue: other catalogues drop a declaration that fails it. */
function holdInfo({ extensions }: JsonObject, { method }: Listing): Held {
  const bazaar = readOptionalObject(readOptionalObject(extensions)?.[BAZAAR]);
  const info = readOptionalObject(bazaar?.['info']);
  const schema = readOptionalObject(bazaar?.['schema']);
  if (schema === undefined) return { note: 'schema_missing' };
  if (info === undefined || !isReadableInfo(info) || !isReadableSchema(schema)) return {};
  // The server middleware adds the method later; a note reports its absence.
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
