import type { JsonObject } from '../payment/wire-values.js';

/** A listing sells requests to a URL, or calls of a tool. */
export type ListingType = 'http' | 'mcp';

/** A seller's declaration, bounded and cleaned. Its texts are data, never instructions. */
export interface Listing {
  readonly x402Version: 1 | 2;
  readonly type: ListingType;
  /** The URL without query and fragment, or a template for many of them. */
  readonly resource: string;
  /** A URL that matches the template; only if `resource` is a template. */
  readonly exampleUrl?: string;
  /** For a stored template: some of the URLs that were bought, the newest first. */
  readonly exampleUrls?: readonly string[];
  /** Only for `http`. */
  readonly method?: string;
  /** Only for `mcp`. */
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
  /** The facts of the paid offer that are not in the payment. */
  readonly offer: ListedOffer;
}

export interface ListedOffer {
  readonly maxTimeoutSeconds?: number;
  /** The fields of `extra` that buyers need to sign. */
  readonly extra?: JsonObject;
}

/** Codes for a declaration that cannot be listed; `docs/discovery.md` has the table. */
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

/** A part that was dropped, filled in or is refused by other catalogues; the rest is listed. */
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
  /** The path of the field, from the object that holds the declaration. */
  readonly path: string;
  /** The expected value, in words. */
  readonly expected: string;
}

/** The result of reading a declaration. */
export type ReadDeclaration =
  /** Nothing is declared, or the seller does not want to be listed. */
  | { readonly kind: 'none' }
  | { readonly kind: 'fault'; readonly fault: Fault; readonly resource: string | undefined }
  | {
      readonly kind: 'listing';
      readonly listing: Listing;
      readonly notes: readonly ListingNote[];
    };
