import { z } from 'zod';
import { CodedError } from '../../platform/http/coded-error.js';
import { isText, plainText } from '../../protocol/listing/seller-words.js';
import { isJsonObject, readAddress } from '../../protocol/payment/wire-values.js';
import type { DenialName } from './moderation-store.js';

/** Rows of any list. */
const ROWS_MOST = 100;
const ROWS_USUAL = 50;
const TEXT_MAX = 400;
export const REASON_MAX = 200;
/** Of a name in the DNS. */
const HOST_MAX = 253;

const address = z.string().transform((text, context) => {
  const read = readAddress(text);
  if (read !== undefined) return read;
  context.addIssue('must be an address: 0x and 40 hex digits');
  return z.NEVER;
});
const hostQuery = z.string().transform((text, context) => {
  const read = readHost(text);
  if (read !== undefined) return read;
  context.addIssue('must be a host, without scheme, port and path');
  return z.NEVER;
});
const words = z
  .string()
  .max(TEXT_MAX, `must be at most ${TEXT_MAX} characters`)
  .refine(isText, 'must be text')
  .transform((text) => (text.trim() === '' ? undefined : text.trim()));
const limit = z
  .string()
  .regex(/^([1-9]\d?|100)$/, `must be a number from 1 to ${ROWS_MOST}`)
  .transform(Number)
  .default(ROWS_USUAL);
const kind = z.enum(['payee', 'host'], { error: 'must be payee or host' });
const entryId = z.string().regex(/^[0-9a-f]{64}$/, 'must be `next` of the page before');

export const ENTRIES_QUERY = z.strictObject({
  text: words.optional(),
  payTo: address.optional(),
  host: hostQuery.optional(),
  limit,
  after: entryId.optional(),
});

export const DENIALS_QUERY = z.strictObject({
  kind: kind.optional(),
  value: z
    .string()
    .transform((text, context) => {
      const read = readAddress(text) ?? readHost(text);
      if (read !== undefined) return read;
      context.addIssue('must be an address or a host');
      return z.NEVER;
    })
    .optional(),
  limit,
  after: z
    .string()
    .transform((text, context): DenialName => {
      const [, of, value] = /^(payee|host):(.{1,300})$/.exec(text) ?? [];
      const read = of === undefined || value === undefined ? undefined : nameOf(of, value);
      if (read !== undefined) return read;
      context.addIssue('must be `next` of the page before');
      return z.NEVER;
    })
    .optional(),
});

/** What an operator wants to deny or allow, and why. */
interface Verdict extends DenialName {
  readonly reason: string;
}

/** @throws CodedError `invalid_request`, naming the field that is wrong. */
export function readVerdict(body: unknown): Verdict {
  const { kind: of, value, reason, ...others } = isJsonObject(body) ? body : {};
  if (Object.keys(others).length > 0) throw wrong('A field is not known here.');
  if (of !== 'payee' && of !== 'host') throw wrong('kind must be payee or host.');
  const name = typeof value === 'string' ? nameOf(of, value) : undefined;
  if (name === undefined) {
    throw wrong(
      of === 'payee'
        ? 'value must be an address: 0x and 40 hex digits.'
        : 'value must be a host, without scheme, port and path.',
    );
  }
  return { ...name, reason: readReason(reason) };
}

/** @throws CodedError `invalid_request` */
function readReason(said: unknown): string {
  const { text, isCut } = plainText(said, REASON_MAX);
  // What is kept for ever is what was written.
  if (text !== undefined && !isCut) return text;
  throw wrong(`reason must be 1 to ${REASON_MAX} characters of one line, without tags.`);
}

const wrong = (message: string): CodedError => new CodedError(400, 'invalid_request', message);

function nameOf(of: string, value: string): DenialName | undefined {
  const kindOf = of === 'payee' ? 'payee' : 'host';
  const read = kindOf === 'payee' ? readAddress(value) : readHost(value);
  return read === undefined ? undefined : { kind: kindOf, value: read };
}

/** As it is in the URLs of entries: names beyond ASCII in their form of the DNS, no dot at the end. */
export function readHost(text: string): string | undefined {
  const plain = text.trim().replace(/\.$/, '');
  if (plain.length > HOST_MAX || !/^(\[[0-9a-fA-F:.]+\]|[^\s/:@?#\\[\]<>]+)$/.test(plain)) {
    return undefined;
  }
  try {
    // Outside the web a name beyond ASCII is written with percent signs, and stays so.
    const url = new URL(`${plain.includes('%') ? 'mcp' : 'http'}://${plain}`);
    const host = url.hostname.replace(/\.$/, '').toLowerCase();
    return host !== '' && host.length <= HOST_MAX ? host : undefined;
  } catch {
    return undefined;
  }
}
