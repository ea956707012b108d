import { BAZAAR } from '../../protocol/listing/read-declaration.js';
import { type ListingCode, MEANINGS } from '../codes.js';

/** What a later answer may change. */
const OPEN: ReadonlySet<ListingCode> = new Set(['awaiting_outcome', 'first_request_counts']);

/**
 * The value of `EXTENSION-RESPONSES`: JSON in base64. Everything that is not `processing` is the last word on what
 * this request declared.
 *
 * @param path - of the field that is wrong.
 */
export function extensionResponses(code: ListingCode, path: string | undefined): string {
  const response = OPEN.has(code)
    ? { status: 'processing', code, status_url: '/discovery/status' }
    : {
        status: 'rejected',
        code,
        ...(path !== undefined && { path }),
        rejectedReason: `${code}: ${MEANINGS[code]}`,
      };
  return Buffer.from(JSON.stringify({ [BAZAAR]: response })).toString('base64');
}
