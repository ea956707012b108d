import { createHash } from 'node:crypto';
import type { Address } from 'viem';
import { invalidCursor } from './history-problems.js';
import type { Narrowing } from './settlement-filter.js';
import type { Position } from './settlement-reader.js';

/** The query of a list. */
type Asked = Narrowing & { readonly payer?: Address | undefined };

const VERSION = 1;
const ID_BYTES = 32;
const TAG_BYTES = 8;
/** The last millisecond of the year 9999. */
const LAST_MS = Date.UTC(10_000, 0) - 1;
const LENGTH = 1 + 6 + ID_BYTES + TAG_BYTES;

/**
 * The end of a page, as a position in the order of the list, so that new settlements do not shift pages. A cursor is
 * not signed, because it gives no access: each request checks the payees of the API key. A cursor of another query is
 * refused, because it would silently skip settlements.
 */
export function encodeCursor({ claimedAt, id }: Position, filter: Asked): string {
  const bytes = Buffer.alloc(1 + 6);
  bytes.writeUInt8(VERSION, 0);
  bytes.writeUIntBE(claimedAt.getTime(), 1, 6);
  return Buffer.concat([bytes, id, tagOf(filter)]).toString('base64url');
}

/** @throws CodedError `invalid_cursor` */
export function decodeCursor(text: string, filter: Asked): Position {
  const bytes = Buffer.from(text, 'base64url');
  const isWhole = bytes.length === LENGTH && bytes.toString('base64url') === text;
  if (!isWhole || bytes.readUInt8(0) !== VERSION) throw invalidCursor();
  const at = bytes.readUIntBE(1, 6);
  if (at > LAST_MS || !bytes.subarray(-TAG_BYTES).equals(tagOf(filter))) throw invalidCursor();
  return {
    claimedAt: new Date(at),
    id: bytes.subarray(7, 7 + ID_BYTES),
  };
}

/**
 * Hash of the query, so that a cursor is valid only for its own query. The payees of the API key are not in it,
 * because they may change.
 */
function tagOf({
  payTo,
  from,
  to,
  state,
  sale,
  asset,
  chainId,
  payer,
  scheme,
  action,
}: Asked): Buffer {
  const asked = [
    payTo,
    from,
    to,
    state,
    asset,
    chainId,
    ...(payer === undefined ? [] : [payer]),
    ...(sale === undefined ? [] : ['sale', sale]),
    ...(scheme === undefined ? [] : ['scheme', scheme]),
    ...(action === undefined ? [] : ['action', action]),
  ];
  const text = JSON.stringify(asked.map((value) => value ?? null));
  return createHash('sha256').update(text).digest().subarray(0, TAG_BYTES);
}
