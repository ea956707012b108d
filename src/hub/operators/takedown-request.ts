import { z } from 'zod';
import { CodedError } from '../../platform/http/coded-error.js';
import { plainText } from '../../protocol/listing/seller-words.js';
import { isJsonObject } from '../../protocol/payment/wire-values.js';
import { canonicalOwner } from '../auth/caller.js';
import type { ObjectName } from '../storage/storage-provider.js';

/** Characters of a reason. It is told to whoever asks for the file, and kept for ever. */
export const REASON_MAX = 200;
/** Rows of a list. */
const ROWS_MOST = 100;
const ROWS_USUAL = 50;
const DIGEST = /^[0-9a-f]{64}$/;

/** What an operator says of some bytes: these, or those that a name stands for and is sold by. */
type TakedownRequest = { readonly reason: string } & (
  | { readonly sha256: string; readonly name?: undefined }
  | { readonly name: ObjectName; readonly sha256?: undefined }
);

/** @throws CodedError `invalid_request`, naming the field that is wrong. */
export function readTakedown(body: unknown): TakedownRequest {
  const { sha256, owner, name, reason, ...others } = isJsonObject(body) ? body : {};
  if (Object.keys(others).length > 0) throw wrong('A field is not known here.');
  const why = readReason(reason);
  if (sha256 !== undefined) {
    if (owner !== undefined || name !== undefined) {
      throw wrong('Either sha256, or owner and name are expected.');
    }
    return { sha256: readDigest(sha256), reason: why };
  }
  if (typeof owner !== 'string' || typeof name !== 'string' || owner === '' || name === '') {
    throw wrong('Either sha256, or owner and name are expected.');
  }
  return { name: { owner: canonicalOwner(owner), id: name }, reason: why };
}

/** @throws CodedError `invalid_request`, naming the field that is wrong. */
export function readRestoration(body: unknown): {
  readonly sha256: string;
  readonly reason: string;
} {
  const { sha256, reason, ...others } = isJsonObject(body) ? body : {};
  if (Object.keys(others).length > 0) throw wrong('A field is not known here.');
  return { sha256: readDigest(sha256), reason: readReason(reason) };
}

const rows = z.strictObject({
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/)
    .transform(Number)
    .default(ROWS_USUAL),
  offset: z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .default(0),
});

/** @throws CodedError `invalid_query` */
export function readRows(query: unknown): { readonly offset: number; readonly length: number } {
  const parsed = rows.safeParse(query);
  if (parsed.success) return { offset: parsed.data.offset, length: parsed.data.limit };
  const message = `limit must be a number from 1 to ${ROWS_MOST}, offset one from 0, and nothing else is known here.`;
  throw new CodedError(400, 'invalid_query', message);
}

function readDigest(said: unknown): string {
  const digest = typeof said === 'string' ? said.toLowerCase().replace(/^0x/, '') : '';
  if (!DIGEST.test(digest)) throw wrong('sha256 must be 64 hex digits.');
  return digest;
}

function readReason(said: unknown): string {
  const { text, isCut } = plainText(said, REASON_MAX);
  // What is kept for ever is what was written.
  if (text !== undefined && !isCut) return text;
  throw wrong(`reason must be 1 to ${REASON_MAX} characters of one line, without tags.`);
}

function wrong(message: string): CodedError {
  return new CodedError(400, 'invalid_request', message);
}
