import { createHash } from 'node:crypto';
import type { Address } from 'viem';
import { invalidCursor } from './history-problems.js';
import type { Narrowing } from './settlement-filter.js';
import type { Position } from './settlement-reader.js';

/** What a list was asked for. */
type Asked = Narrowing & { readonly payer?: Address | undefined };

const VERSION = 1;
const ID_BYTES = 32;
const TAG_BYTES = 8;
/** The last moment of a year with four digits. */
const LAST_MS = Date.UTC(10_000, 0) - 1;
const LENGTH = 1 + 6 + ID_BYTES + TAG_BYTES;

/**
 * Where a page ended. It is a place in the order of the list, not a count: what is added meanwhile moves
 * nothing. It gives no right, so it is not signed; whose settlements are shown is decided by the key alone, each
 * time. One that belongs to another query is refused, for it would skip settlements in silence.
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

/** Of all that was asked for. What the key may see is not in it: a key may gain a payee, or lose one. */
function tagOf({ payTo, from, to, state, sale, asset, chainId, payer }: Asked): Buffer {
  const asked = [
    payTo,
    from,
    to,
    state,
    asset,
    chainId,
    ...(payer === undefined ? [] : [payer]),
    ...(sale === undefined ? [] : ['sale', sale]),
  ];
  const text = JSON.stringify(asked.map((value) => value ?? null));
  return createHash('sha256').update(text).digest().subarray(0, TAG_BYTES);
}
