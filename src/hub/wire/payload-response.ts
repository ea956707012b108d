import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { isShown } from '../media-type.js';
import type { StoredObject } from '../storage/storage-provider.js';
import { inSteps, limitSilence } from './slow-reader.js';

/** Out of memory before the next request of its connection comes. */
const SHORT_BYTES = 65_536;

type ReadPart = (from: number, length: number) => AsyncGenerator<Uint8Array>;

/**
 * Sends a payload, or the part of it that was asked for.
 *
 * @param isWhole - for a payload that is served once: conditions and ranges are passed over.
 */
export async function sendPayload(
  request: Request,
  response: Response,
  object: StoredObject,
  read: ReadPart,
  isWhole = false,
): Promise<void> {
  const { size, sha256, id, contentType } = object;
  const tag = `"${sha256}"`;
  const isGet = !isWhole && (request.method === 'GET' || request.method === 'HEAD');
  response.setHeader('ETag', tag);
  response.setHeader('Accept-Ranges', isWhole ? 'none' : 'bytes');
  // The newest payload of a name may be another one the next moment.
  if (!response.hasHeader('Cache-Control')) response.setHeader('Cache-Control', 'no-cache');
  if (isGet && hasTag(request.headers['if-none-match'], tag)) {
    response.status(304).end();
    return;
  }
  const range = isGet ? byteRangeOf(wantedRange(request, tag), size) : ({ kind: 'all' } as const);
  if (range.kind === 'unsatisfiable') {
    response.setHeader('Content-Range', `bytes */${size}`);
    response.status(416).end();
    return;
  }
  const { from, length } = range.kind === 'part' ? range : { from: 0, length: size };
  const headers: Record<string, string | number> = {
    // The type that clients have always got for a file without one.
    'Content-Type': contentType ?? 'text/plain',
    'Content-Length': length,
    'Content-Disposition': disposition(isShown(contentType) ? 'inline' : 'attachment', id),
    'Content-Security-Policy': "default-src 'none'; sandbox",
  };
  if (range.kind === 'part')
    headers['Content-Range'] = `bytes ${from}-${from + length - 1}/${size}`;
  const status = range.kind === 'part' ? 206 : 200;
  if (request.method === 'HEAD') {
    response.writeHead(status, headers).end();
    return;
  }
  const pieces = read(from, length);
  // While nothing is out yet, what is wrong can still be said.
  const first = await pieces.next();
  response.writeHead(status, headers);
  const isShort = first.done === true || (first.value.length === length && length <= SHORT_BYTES);
  if (isShort) {
    response.end(first.value);
    // Lets the reader finish its work.
    await pieces.next();
    return;
  }
  const isOut = limitSilence(response);
  try {
    await pipeline(Readable.from(inSteps(resumed(first.value, pieces))), response);
  } finally {
    isOut();
  }
}

/** A range of another version (`If-Range`, RFC 9110 §13.1.5) is ignored. */
function wantedRange(request: Request, tag: string): string | undefined {
  const condition = request.headers['if-range'];
  return condition === undefined || condition === tag ? request.headers.range : undefined;
}

async function* resumed(
  first: Uint8Array,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

/** A header stays far below what servers and proxies take. */
const NAME_MAX = 255;

/**
 * `Content-Disposition` with a name from outside (RFC 6266): plain ASCII for old clients, and
 * the name itself percent-encoded (RFC 5987). Neither can end the header or the quotes.
 */
export function disposition(how: 'attachment' | 'inline', name: string): string {
  const short = Array.from(name).slice(0, NAME_MAX).join('');
  const plain = short.replaceAll(/[^\x20-\x7e]|["\\%;]/g, '_');
  const header = `${how}; filename="${plain}"`;
  return plain === short ? header : `${header}; filename*=UTF-8''${extValue(short)}`;
}

/** RFC 5987 `value-chars`. */
function extValue(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The range that a GET asks for, of a payload of `size` bytes. */
type ByteRange =
  | { readonly kind: 'all' }
  | { readonly kind: 'part'; readonly from: number; readonly length: number }
  | { readonly kind: 'unsatisfiable' };

const ALL: ByteRange = { kind: 'all' };

/**
 * Reads `Range` (RFC 9110 §14). Several ranges, other units and what is malformed are answered with
 * everything, as the RFC allows.
 */
export function byteRangeOf(header: string | undefined, size: number): ByteRange {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '');
  const [, first = '', last = ''] = match ?? [];
  if (match === null || (first === '' && last === '')) return ALL;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? { kind: 'unsatisfiable' } : { kind: 'part', from: size - length, length };
  }
  const from = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < from) return ALL;
  return from >= size ? { kind: 'unsatisfiable' } : { kind: 'part', from, length: end - from + 1 };
}

/** Whether a list of entity tags (`If-None-Match`) holds this one, by weak comparison. */
export function hasTag(list: string | undefined, tag: string): boolean {
  if (list === undefined) return false;
  return list
    .split(',')
    .map((one) => one.trim().replace(/^W\//, ''))
    .some((one) => one === '*' || one === tag);
}
