import { createHash } from 'node:crypto';
import type { Listing } from '../../protocol/listing/listing.js';
import type { Paid } from '../catalogue.js';
import type { EntryName } from '../owned/statement.js';

/** SHA-256 over the parts, encoded so that different parts never give the same text. */
function nameOf(parts: readonly (string | number)[]): Buffer {
  return createHash('sha256').update(JSON.stringify(parts)).digest();
}

/** The call at a place: the method of a request, or the name of a tool. */
export function callOf({ method, toolName }: Listing): string {
  return toolName ?? method ?? '';
}

/** Identifies a resource and its call, for any payee. */
export function placeOf(listing: Listing): Buffer {
  return nameOf([listing.type, listing.resource, callOf(listing)]);
}

/** The id of an entry contains its payee, so that a payment to another payee never changes it. */
export function entryIdOf(
  { chainId, payTo }: Pick<Paid, 'chainId' | 'payTo'>,
  listing: Listing,
): Buffer {
  const { type, resource } = listing;
  return entryIdNamed({ chainId, payTo, type, resource, call: callOf(listing) });
}

export function entryIdNamed({ chainId, payTo, type, resource, call }: EntryName): Buffer {
  return nameOf([chainId, payTo, type, resource, call]);
}

/** Whether `resource` is a template, which stands for many URLs. */
export function isTemplate({ exampleUrl }: Listing): boolean {
  return exampleUrl !== undefined;
}

/** The resource of a listing, for notes that outlive the listing. */
export function placeNamed(listing: Listing): { resource: string; isTemplate: boolean } {
  return { resource: listing.resource, isTemplate: isTemplate(listing) };
}

/** URLs of a template that an entry shows. */
const EXAMPLES_MAX = 5;

/** A listing with the URLs by which its template was bought before, the newest first. */
export function withExamples(listing: Listing, before: Listing | undefined): Listing {
  const { exampleUrl } = listing;
  if (exampleUrl === undefined) return listing;
  const known =
    before?.exampleUrls ?? (before?.exampleUrl === undefined ? [] : [before.exampleUrl]);
  const exampleUrls = [...new Set([exampleUrl, ...known])].slice(0, EXAMPLES_MAX);
  return { ...listing, exampleUrls };
}

/** In lower case; URLs convert the case only for web schemes. */
export function hostOf(resource: string): string {
  try {
    return new URL(resource).hostname.replace(/\.$/, '').toLowerCase();
  } catch {
    return '';
  }
}

/** The texts by which an entry is found. */
export function searchedOf(listing: Listing): Record<'names' | 'places' | 'words', string> {
  const { serviceName, toolName, tags, resource, description, mimeType } = listing;
  const { description: ofTool } = (listing.bazaar.info['input'] ?? {}) as Record<string, unknown>;
  const spaced = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, ' ').trim();
  const columns = (values: readonly unknown[]): string =>
    values.filter((one): one is string => typeof one === 'string').join(' ');
  return {
    names: spaced(columns([serviceName, toolName, ...(tags ?? [])])),
    places: spaced(resource.slice(0, 512).replace(/^\w+:\/\//, '')),
    words: columns([description, ofTool, mimeType]),
  };
}
