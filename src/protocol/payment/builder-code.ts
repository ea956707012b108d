import type { Hex } from 'viem';
import { isJsonObject, isShortText, type JsonObject, readOptionalObject } from './wire-values.js';

/** The x402 extension by which transactions name their originators (ERC-8021). */
export const BUILDER_CODE = 'builder-code';

/** The originators that a payment claims (builder codes). They are not signed, so they prove nothing. */
export interface BuilderCodes {
  /** The code of the paid service. */
  readonly app: string | undefined;
  /** The codes of the programs involved, as listed by buyer and seller. */
  readonly services: readonly string[];
}

const CODE_MAX = 32;
const CODE = /^[a-z0-9_]+$/;
/** Five of the buyer and five of the seller, as in the reference. */
const SERVICES_MAX = 10;
/** Limit of list entries that are read: many more than any client sends. */
const ENTRIES_MAX = 100;

export function isBuilderCode(value: unknown): value is string {
  return isShortText(value, CODE_MAX) && CODE.test(value);
}

/**
 * The builder codes of a payment. Malformed ones are ignored, as in the reference: the payment stays valid.
 *
 * @param version - payments of V1 name no service, because no seller has checked it.
 */
export function readBuilderCodes(
  paymentPayload: JsonObject,
  version: 1 | 2,
): BuilderCodes | undefined {
  const declared = readOptionalObject(paymentPayload['extensions'])?.[BUILDER_CODE];
  const info = isJsonObject(declared) ? readOptionalObject(declared['info']) : undefined;
  if (info === undefined) return undefined;
  const { a, s } = info;
  const app = version === 2 && isBuilderCode(a) ? a : undefined;
  const listed: readonly unknown[] = Array.isArray(s) ? s.slice(0, ENTRIES_MAX) : [s];
  const services = listed.filter(isBuilderCode).slice(0, SERVICES_MAX);
  return app === undefined && services.length === 0 ? undefined : { app, services };
}

/** The last 16 bytes of calldata with builder codes (ERC-8021). */
const MARKER = '80218021802180218021802180218021';
const SCHEMA = '02';

/**
 * The bytes at the end of calldata that name its originators: schema 2 of ERC-8021, a CBOR map followed by its length.
 *
 * @param own - code of this service.
 * @returns `undefined` where this service has no code: the extension is off.
 */
export function dataSuffixOf(
  own: string | undefined,
  codes: BuilderCodes | undefined,
): Hex | undefined {
  if (own === undefined) return undefined;
  const { app, services = [] } = codes ?? {};
  const entries = [
    ...(app === undefined ? [] : [cborText('a') + cborText(app)]),
    cborText('w') + cborText(own),
    ...(services.length === 0 ? [] : [cborText('s') + cborList(services.map(cborText))]),
  ];
  const map = cborHead(CBOR_MAP, entries.length) + entries.join('');
  const length = (map.length / 2).toString(16).padStart(4, '0');
  return `0x${map}${length}${SCHEMA}${MARKER}`;
}

/** Major types of CBOR (RFC 8949, 3.1). */
const CBOR_TEXT = 3;
const CBOR_LIST = 4;
const CBOR_MAP = 5;
/** Lengths up to this are in the first byte; up to 255 in the next one. */
const CBOR_SHORT_MAX = 23;
const CBOR_ONE_BYTE = 24;

function cborText(code: string): string {
  return cborHead(CBOR_TEXT, code.length) + Buffer.from(code, 'latin1').toString('hex');
}

function cborList(items: readonly string[]): string {
  return cborHead(CBOR_LIST, items.length) + items.join('');
}

function cborHead(majorType: number, length: number): string {
  const head = (short: number): string => byte((majorType << 5) | short);
  return length <= CBOR_SHORT_MAX ? head(length) : head(CBOR_ONE_BYTE) + byte(length);
}

function byte(value: number): string {
  return value.toString(16).padStart(2, '0');
}
