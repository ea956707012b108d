import { type JsonObject, readOptionalObject } from '../payment/wire-values.js';
import { readInfo, readSchema } from './declared-info.js';
import { infoOfOutputSchema } from './declared-v1.js';
import type { Fault, ListedOffer, Listing, ListingNote, ReadDeclaration } from './listing.js';
import {
  type AllowedHosts,
  iconUrlOf,
  isFault,
  readResourceUrl,
  type ResourceUrl,
  routeTemplateOf,
} from './resource-url.js';
import { mimeTypeOf, plainText, serviceNameOf, tagsOf } from './seller-words.js';

/** The x402 extension with which sellers declare resources. */
export const BAZAAR = 'bazaar';

/** A declaration before parsing, from any source. */
interface Declared {
  readonly x402Version: 1 | 2;
  /** `url`, `description` and similar fields, with their place. */
  readonly resource: JsonObject;
  readonly urlPath: string;
  readonly info: unknown;
  readonly infoPath: string;
  readonly schema: unknown;
  readonly routeTemplate: unknown;
  readonly requirements: JsonObject;
}

/**
 * The declaration of a settle request, from the seller's declaration that a V2 payload repeats, or from V1
 * requirements. Bounded in time and size.
 */
export function readDeclaration(
  paymentPayload: JsonObject,
  paymentRequirements: JsonObject,
  allow: AllowedHosts,
): ReadDeclaration {
  if (paymentPayload['x402Version'] === 1) return readOffer(paymentRequirements, allow);
  return readDeclared(paymentPayload, paymentRequirements, allow, 'paymentPayload.');
}

/** Reads the declaration in a 402 of V2: `resource`, `extensions` and one of its offers. */
export function readDeclared(
  { resource, extensions }: JsonObject,
  requirements: JsonObject,
  allow: AllowedHosts,
  at = '',
): ReadDeclaration {
  const declared = readOptionalObject(extensions)?.[BAZAAR];
  if (declared === undefined || declared === null) return { kind: 'none' };
  const bazaar = readOptionalObject(declared);
  return read(
    {
      x402Version: 2,
      resource: readOptionalObject(resource) ?? {},
      urlPath: `${at}resource.url`,
      info: bazaar?.['info'],
      infoPath: `${at}extensions.bazaar.info`,
      schema: bazaar?.['schema'],
      routeTemplate: bazaar?.['routeTemplate'],
      requirements,
    },
    allow,
  );
}

/** Reads the declaration in an offer of V1. */
export function readOffer(
  requirements: JsonObject,
  allow: AllowedHosts,
  at = 'paymentRequirements.',
): ReadDeclaration {
  const info = infoOfOutputSchema(requirements['outputSchema']);
  if (info === undefined) return { kind: 'none' };
  const { resource: url, description, mimeType } = requirements;
  return read(
    {
      x402Version: 1,
      resource: { url, description, mimeType },
      urlPath: `${at}resource`,
      info,
      infoPath: `${at}outputSchema`,
      schema: undefined,
      routeTemplate: undefined,
      requirements,
    },
    allow,
  );
}

function read(declared: Declared, allow: AllowedHosts): ReadDeclaration {
  const notes = new Set<ListingNote>();
  const url = readResourceUrl(declared.resource['url'], declared.urlPath, allow);
  if (isFault(url)) return refused(url, undefined);
  const concrete = url.origin + url.path;
  const info = readInfo(declared.info, declared.infoPath, notes);
  if ('code' in info) return refused(info, concrete);
  if (url.origin.startsWith('mcp:') && info.type !== 'mcp') {
    const expected = 'an http: or https: URL for requests';
    return refused({ code: 'resource_scheme', path: declared.urlPath, expected }, concrete);
  }
  const routeTemplate = info.type === 'http' ? templateOf(declared, url, notes) : undefined;
  const schema = readSchema(declared.schema, notes);
  const { type, method, toolName } = info;
  const listing: Listing = {
    x402Version: declared.x402Version,
    type,
    resource: routeTemplate === undefined ? concrete : url.origin + routeTemplate,
    ...(routeTemplate !== undefined && { exampleUrl: concrete }),
    ...(method !== undefined && { method }),
    ...(toolName !== undefined && { toolName }),
    ...wordsOf(declared.resource, notes),
    bazaar: {
      info: info.info,
      ...(schema && { schema }),
      ...(routeTemplate !== undefined && { routeTemplate }),
    },
    offer: readListedOffer(declared.requirements),
  };
  return { kind: 'listing', listing, notes: [...notes].sort() };
}

function refused(fault: Fault, resource: string | undefined): ReadDeclaration {
  return { kind: 'fault', fault, resource };
}

function templateOf(
  { routeTemplate }: Declared,
  { path }: ResourceUrl,
  notes: Set<ListingNote>,
): string | undefined {
  if (routeTemplate === undefined) return undefined;
  const template = routeTemplateOf(routeTemplate, path);
  if (template === undefined) notes.add('route_template_left_out');
  return template;
}

/** The texts of a listing, for people. */
export type Words = Pick<Listing, 'description' | 'mimeType' | 'serviceName' | 'tags' | 'iconUrl'>;

/** {@link Words} as they are listed, from any source. */
export function readWords(declared: JsonObject): Words {
  return wordsOf(declared, new Set());
}

/** Reads the texts of a declaration. A malformed text is dropped with a note. */
function wordsOf(declared: JsonObject, notes: Set<ListingNote>): Words {
  const kept = <T>(value: T | undefined, name: string, note: ListingNote): T | undefined => {
    if (value === undefined && isDeclared(declared[name])) notes.add(note);
    return value;
  };
  const { text: description, isCut } = plainText(declared['description']);
  if (isCut && isDeclared(declared['description'])) notes.add('description_cut');
  const mimeType = kept(mimeTypeOf(declared['mimeType']), 'mimeType', 'mime_type_left_out');
  const serviceName = kept(
    serviceNameOf(declared['serviceName']),
    'serviceName',
    'service_name_left_out',
  );
  const tags = kept(tagsOf(declared['tags']), 'tags', 'tags_left_out');
  const iconUrl = kept(iconUrlOf(declared['iconUrl']), 'iconUrl', 'icon_left_out');
  return {
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
    ...(serviceName !== undefined && { serviceName }),
    ...(tags && { tags }),
    ...(iconUrl !== undefined && { iconUrl }),
  };
}

function isDeclared(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** One day. No payment waits longer. */
const TIMEOUT_MAX = 86_400;
const EXTRA = ['name', 'version', 'assetTransferMethod', 'facilitatorAddress'];

/** The known fields of an offer's `extra`, bounded. */
function readListedOffer(requirements: JsonObject): ListedOffer {
  const seconds = requirements['maxTimeoutSeconds'];
  const isTime = Number.isSafeInteger(seconds) && Number(seconds) > 0;
  const declared = readOptionalObject(requirements['extra']) ?? {};
  const extra = EXTRA.flatMap((name) => {
    const { text, isCut } = plainText(declared[name], 128);
    return text === undefined || isCut ? [] : [[name, text] as const];
  });
  return {
    ...(isTime && { maxTimeoutSeconds: Math.min(Number(seconds), TIMEOUT_MAX) }),
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
  };
}
