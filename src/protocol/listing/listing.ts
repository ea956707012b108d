import type { JsonObject } from '../payment/wire-values.js';

/** The goods of a listing: requests to a URL, or calls of a tool. */
export type ListingType = 'http' | 'mcp';

/** A seller's declaration, bounded and cleaned. Its texts are data, never instructions. */
export interface Listing {
  readonly x402Version: 1 | 2;
  readonly type: ListingType;
  /** The URL without query and fragment, or the template that stands for many of them. */
  readonly resource: string;
  /** A URL that the template stands for; only where `resource` is one. */
  readonly exampleUrl?: string;
  /** Of a template that is kept: some URLs of it that were bought, the newest first. */
  readonly exampleUrls?: readonly string[];
  /** Of `http`. */
  readonly method?: string;
  /** Of `mcp`. */
  readonly toolName?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly serviceName?: string;
  readonly tags?: readonly string[];
  readonly iconUrl?: string;
  /** The declaration, rebuilt from the fields that were read; unread fields are dropped. */
  readonly bazaar: {
    readonly info: JsonObject;
    readonly schema?: JsonObject;
    readonly routeTemplate?: string;
  };
  /** Of the offer that was paid, what the payment itself does not say. */
  readonly offer: ListedOffer;
}

export interface ListedOffer {
  readonly maxTimeoutSeconds?: number;
  /** Words of `extra` that buyers need to sign. */
  readonly extra?: JsonObject;
}

/** Why a declaration cannot be listed, in words for programs; `docs/discovery.md` has the table. */
export type DeclarationFault =
  | 'resource_missing'
  | 'resource_invalid'
  | 'resource_scheme'
  | 'resource_credentials'
  | 'resource_not_public'
  | 'info_missing'
  | 'info_too_large'
  | 'input_type'
  | 'input_method'
  | 'input_body_type'
  | 'tool_name'
  | 'tool_schema'
  | 'tool_transport';

/** A part that was left out, filled in or is refused elsewhere; the rest is listed all the same. */
export type ListingNote =
  | 'description_cut'
  | 'example_left_out'
  | 'icon_left_out'
  | 'info_not_of_schema'
  | 'method_assumed'
  | 'mime_type_left_out'
  | 'route_template_left_out'
  | 'schema_left_out'
  | 'schema_missing'
  | 'service_name_left_out'
  | 'tags_left_out';

/** The error of a declaration, and its place. */
export interface Fault {
  readonly code: DeclarationFault;
  /** Of the field, from the object that holds the declaration. */
  readonly path: string;
  /** The value expected there, in words for people. */
  readonly expected: string;
}

/** The result of reading a declaration. */
export type ReadDeclaration =
  /** Nothing was declared, or the seller does not want to be found. */
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly fault: Fault; readonly resource: string | undefined }
  | {
      readonly kind: 'listing';
      readonly listing: Listing;
      readonly notes: readonly ListingNote[];
    };
