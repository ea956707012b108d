import type { Address } from 'viem';
import { z } from 'zod';
import type { CodedError } from '../../platform/http/coded-error.js';
import { invalidQuery } from '../../platform/http/read-query.js';
import { BAZAAR } from '../../protocol/listing/read-declaration.js';
import { isText } from '../../protocol/listing/seller-words.js';
import { chainIdOf, chainIdOfV1Name } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { isSchemeName } from '../../protocol/schemes/registry.js';
import type { CatalogueFilter, EntryPosition, PageStart } from '../catalogue.js';

/** Of one page; who asks for more gets these. */
const LIMIT_MAX = 100;
/** Whoever reads further goes on by the cursor. */
const OFFSET_MAX = 10_000;
const SEARCH_OFFSET_MAX = 1000;
const QUERY_MAX = 400;

const TEXT = 'must be given once, as a text';

const address = z.string(TEXT).transform((text, context): Address => {
  const read = readAddress(text);
  if (read !== undefined) return read;
  context.addIssue('must be an address: 0x and 40 hex digits');
  return z.NEVER;
});
const network = z.string(TEXT).transform((text, context) => {
  const chainId = chainIdOf(text) ?? chainIdOfV1Name(text);
  if (chainId !== undefined) return chainId;
  context.addIssue('must be a network such as eip155:56, or a name of V1 such as bsc');
  return z.NEVER;
});
const number = (most: number) =>
  z
    .string(TEXT)
    .regex(/^\d{1,9}$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value <= most, `must be at most ${most}`);
/** Stock clients ask for a thousand at once: they get a page. */
const limit = (otherwise: number) =>
  number(999_999_999)
    .transform((value) => Math.min(Math.max(value, 1), LIMIT_MAX))
    .default(otherwise);

const FILTER = {
  type: z.enum(['http', 'mcp'], { error: 'must be http or mcp' }).optional(),
  payTo: address.optional(),
  network: network.optional(),
  asset: address.optional(),
  scheme: z.string(TEXT).max(64, 'must be at most 64 characters').optional(),
  maxPrice: z
    .string(TEXT)
    .regex(/^\d{1,78}$/, 'must be a whole number of atomic units')
    .transform(BigInt)
    .optional(),
  extensions: z.string(TEXT).max(64, 'must be at most 64 characters').optional(),
};

const LIST = z.object({
  ...FILTER,
  limit: limit(LIMIT_MAX),
  offset: number(OFFSET_MAX).default(0),
  cursor: z.string(TEXT).max(200, 'must be a cursor of an answer').optional(),
});
const SEARCH = z.object({
  ...FILTER,
  query: z
    .string(TEXT)
    .max(QUERY_MAX, `must be at most ${QUERY_MAX} characters`)
    .refine(isText, 'must be text')
    .default(''),
  limit: limit(20),
  cursor: z.string(TEXT).max(200, 'must be a cursor of an answer').optional(),
});
const MERCHANT = LIST.extend({ payTo: address, limit: limit(20) });
const STATUS = z.object({
  resource: z.string(TEXT).max(2048, 'must be at most 2048 characters'),
  payTo: address.optional(),
});

export type AskedFilter = Omit<CatalogueFilter, 'since' | 'x402Version'>;

interface Asked {
  /** `undefined` for what no entry can be. */
  readonly filter: AskedFilter | undefined;
  readonly limit: number;
}

export interface AskedList extends Asked {
  readonly offset: number;
  readonly start: PageStart;
}

export interface AskedSearch extends Asked {
  readonly text: string;
  readonly start: { readonly offset: number };
}

/** @throws CodedError `invalid_query`, here and below. */
export function readList(query: unknown): AskedList {
  return listOf(read(LIST, query));
}

export function readMerchant(query: unknown): AskedList & { readonly payTo: Address } {
  const asked = read(MERCHANT, query);
  return { ...listOf(asked), payTo: asked.payTo };
}

export function readSearch(query: unknown): AskedSearch {
  const { query: text, limit: most, cursor, ...asked } = read(SEARCH, query);
  return {
    text: text.trim(),
    limit: most,
    filter: filterOf(asked),
    start: cursor === undefined ? { offset: 0 } : readOffset(cursor),
  };
}

export function readStatus(query: unknown): z.output<typeof STATUS> {
  return read(STATUS, query);
}

function listOf({ limit: most, offset, cursor, ...asked }: z.output<typeof LIST>): AskedList {
  const start = cursor === undefined ? { offset } : readCursor(cursor);
  return { filter: filterOf(asked), limit: most, offset, start };
}

function filterOf(asked: z.output<z.ZodObject<typeof FILTER>>): AskedFilter | undefined {
  const { type, payTo, network: chainId, asset, scheme, maxPrice, extensions } = asked;
  if (maxPrice !== undefined && asset === undefined) {
    throw invalidQuery('maxPrice: needs asset: amounts of two tokens cannot be compared.');
  }
  if (extensions !== undefined && extensions !== BAZAAR) return undefined;
  if (scheme !== undefined && !isSchemeName(scheme)) return undefined;
  return { type, payTo, chainId, asset, scheme, maxAmount: maxPrice };
}

/** What others know of and we do not is passed over: clients of other catalogues send it. */
function read<T extends z.ZodType>(schema: T, query: unknown): z.output<T> {
  const parsed = schema.safeParse(query);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${String(path[0] ?? 'query')}: ${message}`,
  );
  throw invalidQuery(`${[...new Set(problems)].join('; ')}.`);
}

const badCursor = (): CodedError =>
  invalidQuery('cursor: must be a cursor of an answer to this query.');

const POSITION = /^(\d{1,9})\.(\d{1,16})\.([0-9a-f]{64})$/;

export function cursorOf({ score, paidAt, id }: EntryPosition): string {
  return Buffer.from(`${score}.${paidAt}.${id}`).toString('base64url');
}

function readCursor(cursor: string): PageStart {
  const [, score, at, id] = POSITION.exec(textOf(cursor)) ?? [];
  // No date is later than that.
  if (score === undefined || at === undefined || id === undefined || Number(at) > 8.64e15)
    throw badCursor();
  return { after: { score: Number(score), paidAt: Number(at), id } };
}

const textOf = (cursor: string): string => Buffer.from(cursor, 'base64url').toString();

/** Of a search, which has no order of its own that one could go on in. */
export function offsetCursorOf(offset: number): string | undefined {
  return offset > SEARCH_OFFSET_MAX ? undefined : Buffer.from(`o${offset}`).toString('base64url');
}

function readOffset(cursor: string): { readonly offset: number } {
  const [, digits] = /^o(\d{1,5})$/.exec(textOf(cursor)) ?? [];
  if (digits === undefined || Number(digits) > SEARCH_OFFSET_MAX) throw badCursor();
  return { offset: Number(digits) };
}
