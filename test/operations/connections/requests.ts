import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { createApiKey } from '../../../src/operations/access/api-key.js';
import type { SeededRandom } from '../../support/seeded-random.js';

type Headers = Readonly<Record<string, string>>;

/** A body as it is sent, perhaps not all of it. */
export interface Sent {
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Where a service asks for keys, this one opens all its doors. */
export const EVERYTHING = createApiKey('everything', ['verify', 'settle', 'hub', 'admin']);
export const KEY_HEADER = { 'X-API-Key': EVERYTHING.key };

/** The bytes of a request on the wire. @param line - method and path. */
export function aRequest(line: string, headers: Headers = {}, bytes?: Buffer): Buffer {
  const lines = Object.entries({ Host: 'localhost', ...KEY_HEADER, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const head = Buffer.from(`${line} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return bytes === undefined ? head : Buffer.concat([head, bytes]);
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

export function whole(bytes: Buffer, more: Headers = JSON_TYPE): Sent {
  return { headers: { ...more, 'Content-Length': String(bytes.length) }, bytes };
}

/** @param missing - bytes that are announced and do not come. */
export function cutShort(bytes: Buffer, missing: number, more: Headers = JSON_TYPE): Sent {
  return { headers: { ...more, 'Content-Length': String(bytes.length + missing) }, bytes };
}

/** @param isEnded - else whatever comes behind it makes it malformed. */
export function chunked(bytes: Buffer, isEnded: boolean, more: Headers = JSON_TYPE): Sent {
  const pieces = [Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')];
  if (isEnded) pieces.push(Buffer.from('0\r\n\r\n'));
  return { headers: { ...more, 'Transfer-Encoding': 'chunked' }, bytes: Buffer.concat(pieces) };
}

const PACKED = { ...JSON_TYPE, 'Content-Encoding': 'gzip' };
const PARTS = { 'Content-Type': 'multipart/form-data; boundary=b' };

/** Digits deflate to less than half: what is let in. Sevens, and brackets, to a thousandth. */
const DIGITS = Buffer.from(randomBytes(120_000).map((byte) => 0x30 + (byte % 10)));
const PACKED_BODIES = [
  gzipSync(DIGITS),
  gzipSync('7'.repeat(1_000_000), { level: 1 }),
  gzipSync('['.repeat(500_000)),
  gzipSync('[],'.repeat(200_000)),
];

/** A body for a door that takes JSON: as it should be, too long, packed, without an end, nonsense. */
export function someBody(random: SeededRandom, good: Buffer): Sent {
  const long = Buffer.alloc(random.pick([2000, 15_000, 100_000, 900_000]), '7');
  const packed = random.pick(PACKED_BODIES);
  return random.pick([
    () => whole(good),
    () => whole(good),
    () => whole(long),
    () => chunked(long, true),
    () => chunked(long, false),
    () => cutShort(long, 50_000),
    () => cutShort(good, 1),
    () => whole(packed, PACKED),
    () => cutShort(packed.subarray(0, packed.length - 9), 9, PACKED),
    () => chunked(packed.subarray(0, -9), false, PACKED),
  ])();
}

/** A form with a file in it, that ends or does not. */
export function aForm(
  { owner, name }: { readonly owner: string; readonly name: string },
  file: Buffer,
  isEnded: boolean,
): Sent {
  const part = 'Content-Disposition: form-data; name=';
  const head = `--b\r\n${part}"owner"\r\n\r\n${owner}\r\n--b\r\n${part}"file"; filename="${name}"\r\n\r\n`;
  const bytes = Buffer.concat([
    Buffer.from(head),
    file,
    Buffer.from(isEnded ? '\r\n--b--\r\n' : ''),
  ]);
  return isEnded ? whole(bytes, PARTS) : chunked(bytes, false, PARTS);
}
