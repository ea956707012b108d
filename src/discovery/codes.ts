import type { DeclarationFault } from '../protocol/listing/listing.js';

/** Reasons why a paid and declared resource is not listed. */
export type RefusalCode =
  DeclarationFault | 'asset_not_known' | 'nothing_paid' | 'payee_quota' | 'denied' | 'removed';

/** The outcome of a listing, or its present state. */
export type ListingCode =
  | RefusalCode
  | 'listed'
  | 'would_be_listed'
  | 'awaiting_outcome'
  | 'first_request_counts'
  | 'not_settled'
  | 'not_declared'
  | 'expired'
  | 'unknown'
  | 'catalogue_busy'
  | 'catalogue_off';

/** Texts for people. `docs/discovery.md` has the same table. */
export const MEANINGS: Readonly<Record<ListingCode, string>> = {
  listed: 'The resource is listed.',
  would_be_listed: 'A payment with this declaration would be listed.',
  awaiting_outcome:
    'The resource is listed as soon as the payment is in a block and archived, which takes about a second.',
  first_request_counts:
    'Another request has claimed this payment, so only the declaration of that request counts.',
  not_settled: 'This request settled no payment, so the resource is not listed.',
  not_declared:
    'The request has no declaration: neither the extension bazaar (V2) nor outputSchema.input (V1).',
  expired: 'The resource had no payment for a long time; the next payment lists it again.',
  unknown: 'No settled payment of this deployment has declared a resource with this URL.',
  catalogue_busy: 'Too many declarations wait for their payments; a later payment lists it.',
  catalogue_off: 'The catalogue is off: `CATALOGUE` is `false`, or `DATABASE_URL` is not set.',
  asset_not_known:
    'The payment was in a token that this deployment does not know. /v2/assets lists the known tokens.',
  nothing_paid: 'The settled amount is zero.',
  payee_quota: 'This payee has the maximum number of entries.',
  denied: 'The operator of this deployment has denied this payee or host.',
  removed:
    'The payee has removed the resource by a signed statement. Another signed statement lists it again.',
  resource_missing: 'The declaration names no URL of the resource.',
  resource_invalid: 'The URL of the resource is not an absolute URL of at most 2048 characters.',
  resource_scheme: 'The URL of the resource is neither http: nor https:, nor mcp: of a tool.',
  resource_credentials: 'The URL of the resource holds a user or a password.',
  resource_not_public: 'The host of the resource is an IP address, or a name that is not public.',
  info_missing: 'The declaration has no info.input.',
  info_too_large:
    'info is longer than 16 384 characters, has more than 16 levels, or has more than 2000 values.',
  input_type: 'info.input.type is neither http nor mcp.',
  input_method: 'info.input.method is none of GET, HEAD, DELETE, POST, PUT and PATCH.',
  input_body_type: 'info.input.bodyType is unknown, or the method has no body.',
  tool_name:
    'info.input.toolName is missing, longer than 128 characters, or contains invisible characters.',
  tool_schema: 'info.input.inputSchema is not an object.',
  tool_transport: 'info.input.transport is neither streamable-http nor sse.',
};
