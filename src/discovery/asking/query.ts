import { type CodedError, invalidQuery } from '../../platform/http/coded-error.js';
import type { ListingType } from '../../protocol/listing/listing.js';
import { BAZAAR } from '../../protocol/listing/read-declaration.js';
import { chainIdOf, chainIdOfV1Name } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';
import { isSchemeName } from '../../protocol/schemes/registry.js';
import type { CatalogueFilter, EntryPosition, PageStart } from '../catalogue.js';
import { LIMIT_MAX } from './dto/discovery-query.dto.js';

const SEARCH_OFFSET_MAX = 1000;

/** A query validated by its DTO class. */
interface EntryQuery {
  readonly type?: ListingType;
  readonly payTo?: string;
  readonly network?: string;
  readonly asset?: string;
  readonly scheme?: string;
  readonly maxPrice?: string;
  readonly extensions?: string;
  readonly cursor?: string;
  readonly limit: number;
}

export type AskedFilter = Omit<CatalogueFilter, 'since' | 'x402Version'>;

interface Asked {
  /** `undefined` for a filter that no entry can match. */
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
export function listOf(query: EntryQuery & { readonly offset: number }): AskedList {
  const { offset, cursor } = query;
  const start = cursor === undefined ? { offset } : readCursor(cursor);
  return { filter: filterOf(query), limit: pageOf(query), offset, start };
}

export function searchOf(query: EntryQuery & { readonly query: string }): AskedSearch {
  const { cursor } = query;
  return {
    text: query.query.trim(),
    filter: filterOf(query),
    limit: pageOf(query),
    start: cursor === undefined ? { offset: 0 } : readOffset(cursor),
  };
}

const pageOf = ({ limit }: { readonly limit: number }): number =>
  Math.min(Math.max(limit, 1), LIMIT_MAX);

function filterOf(query: EntryQuery): AskedFilter | undefined {
  const { type, network, scheme, maxPrice, extensions } = query;
  const asset = readAddress(query.asset);
  if (maxPrice !== undefined && asset === undefined) {
    throw invalidQuery('maxPrice needs asset: amounts of two tokens cannot be compared.', {
      path: 'asset',
      expected: 'the token of maxPrice',
      got: 'nothing',
    });
  }
  if (extensions !== undefined && extensions !== BAZAAR) return undefined;
  if (scheme !== undefined && !isSchemeName(scheme)) return undefined;
  return {
    type,
    payTo: readAddress(query.payTo),
    chainId: network === undefined ? undefined : (chainIdOf(network) ?? chainIdOfV1Name(network)),
    asset,
    scheme,
    maxAmount: maxPrice === undefined ? undefined : BigInt(maxPrice),
  };
}

const CURSOR = 'the cursor of an earlier answer to the same query';
const badCursor = (): CodedError =>
  invalidQuery(`cursor must be ${CURSOR}.`, { path: 'cursor', expected: CURSOR });

const POSITION = /^(\d{1,9})\.(\d{1,16})\.([0-9a-f]{64})$/;

export function cursorOf({ score, paidAt, id }: EntryPosition): string {
  return Buffer.from(`${score}.${paidAt}.${id}`).toString('base64url');
}

function readCursor(cursor: string): PageStart {
  const [, score, at, id] = POSITION.exec(textOf(cursor)) ?? [];
  // Larger numbers are no valid date.
  if (score === undefined || at === undefined || id === undefined || Number(at) > 8.64e15)
    throw badCursor();
  return { after: { score: Number(score), paidAt: Number(at), id } };
}

const textOf = (cursor: string): string => Buffer.from(cursor, 'base64url').toString();

/** For a search, whose order has no cursor of its own. */
export function offsetCursorOf(offset: number): string | undefined {
  return offset > SEARCH_OFFSET_MAX ? undefined : Buffer.from(`o${offset}`).toString('base64url');
}

function readOffset(cursor: string): { readonly offset: number } {
  const [, digits] = /^o(\d{1,5})$/.exec(textOf(cursor)) ?? [];
  if (digits === undefined || Number(digits) > SEARCH_OFFSET_MAX) throw badCursor();
  return { offset: Number(digits) };
}
