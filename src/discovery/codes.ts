import type { DeclarationFault } from '../protocol/listing/listing.js';

/** Why something that was paid and declared is not listed. */
export type RefusalCode =
  DeclarationFault | 'asset_not_known' | 'nothing_paid' | 'payee_quota' | 'denied' | 'removed';

/** What became of a listing, or will. */
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

/** For people. `docs/discovery.md` has the same table. */
export const MEANINGS: Readonly<Record<ListingCode, string>> = {
  listed: 'It is listed.',
  would_be_listed: 'A payment with this declaration would be listed.',
  awaiting_outcome:
    'It is listed once the payment is in a block and archived, which takes about a second.',
  first_request_counts:
    'Another request has claimed this payment: what that one declared counts, and nothing else.',
  not_settled: 'Nothing was settled by this request, so that nothing is listed.',
  not_declared:
    'Nothing is declared: neither the extension bazaar (V2) nor outputSchema.input (V1).',
  expired: 'Nothing was paid for it in a long time; the next payment lists it again.',
  unknown:
    'No settled payment here has declared this resource: not yet, not with this URL, or without a declaration.',
  catalogue_busy: 'Too many declarations wait for their payments; a later payment lists it.',
  catalogue_off: 'The catalogue is off: `CATALOGUE` is `false`, or `DATABASE_URL` is not set.',
  asset_not_known:
    'It was paid in a token that this deployment does not know: those are listed at /v2/assets.',
  nothing_paid: 'Nothing was paid: the settled amount is zero.',
  payee_quota: 'This payee has as many entries as one may have.',
  denied: 'The operator does not list this payee or host.',
  removed: 'The payee has taken it back by a signed statement, and lists it again by another.',
  resource_missing: 'The declaration names no URL of the resource.',
  resource_invalid: 'The URL of the resource is not an absolute URL of at most 2048 characters.',
  resource_scheme: 'The URL of the resource is neither http: nor https:, nor mcp: of a tool.',
  resource_credentials: 'The URL of the resource holds a user or a password.',
  resource_not_public:
    'The host of the resource is an address, or a name that only some can reach.',
  info_missing: 'The declaration has no info.input.',
  info_too_large:
    'info is longer than 16 384 characters, deeper than 16, or has more than 2000 values.',
  input_type: 'info.input.type is neither http nor mcp.',
  input_method: 'info.input.method is none of GET, HEAD, DELETE, POST, PUT and PATCH.',
  input_body_type: 'info.input.bodyType is unknown, or the method has no body.',
  tool_name:
    'info.input.toolName is missing, longer than 128 characters, or holds what cannot be seen.',
  tool_schema: 'info.input.inputSchema is not an object.',
  tool_transport: 'info.input.transport is neither streamable-http nor sse.',
};
