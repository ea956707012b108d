import { type Address, hashTypedData, type Hex } from 'viem';
import { z } from 'zod';
import { CodedError } from '../../platform/http/coded-error.js';
import type { ListingType } from '../../protocol/listing/listing.js';
import { readWords, type Words } from '../../protocol/listing/read-declaration.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { isJsonObject, readAddress } from '../../protocol/payment/wire-values.js';

/**
 * - `remove`: the entry is taken away, and no payment brings it back.
 * - `correct`: its words are these, whatever is declared.
 * - `restore`: what was said before is not said any more.
 */
export type StatementAction = 'remove' | 'correct' | 'restore';

/** Which entry a statement is about: a payee's own. */
export interface EntryName {
  readonly chainId: number;
  readonly payTo: Address;
  readonly type: ListingType;
  /** As it is listed: the URL, or the template. */
  readonly resource: string;
  /** The method of a request, or the name of a tool. */
  readonly call: string;
}

/** What a payee says of one of its entries. */
export interface Statement extends EntryName {
  readonly action: StatementAction;
  /** Those that are corrected. */
  readonly words: Words;
  /** Milliseconds. */
  readonly issuedAt: number;
  /** Milliseconds; `undefined` where the next statement alone ends it. */
  readonly endsAt: number | undefined;
}

/** A statement as it came, with what it was signed over. */
export interface SignedStatement {
  readonly statement: Statement;
  readonly digest: Hex;
  readonly signature: Hex;
}

/** What is signed (EIP-712). Fields of words that are empty are not corrected. */
export const STATEMENT_TYPES = {
  CatalogueStatement: [
    { name: 'action', type: 'string' },
    { name: 'payTo', type: 'address' },
    { name: 'type', type: 'string' },
    { name: 'resource', type: 'string' },
    { name: 'call', type: 'string' },
    { name: 'description', type: 'string' },
    { name: 'mimeType', type: 'string' },
    { name: 'serviceName', type: 'string' },
    { name: 'tags', type: 'string[]' },
    { name: 'iconUrl', type: 'string' },
    { name: 'issuedAt', type: 'uint256' },
    { name: 'until', type: 'uint256' },
  ],
} as const;

interface StatementDomain {
  readonly name: string;
  readonly version: '1';
  readonly chainId: number;
}

/** The name has the URL of the catalogue: what was signed for one is worth nothing at another, and wallets show it. */
export function statementDomain(catalogueUrl: string, chainId: number): StatementDomain {
  return { name: `x402 catalogue at ${catalogueUrl}`, version: '1', chainId };
}

const short = (most: number) => z.string().max(most);
/** Unix seconds of years people may live to see: JSON of wallets has numbers as texts. */
const seconds = z
  .union([z.number().int(), z.string().regex(/^\d{1,10}$/)])
  .transform(Number)
  .pipe(z.number().min(0).max(9_999_999_999));

const BODY = z.object({
  network: short(40),
  statement: z.object({
    action: z.enum(['remove', 'correct', 'restore']),
    payTo: short(42),
    type: z.enum(['http', 'mcp']),
    resource: short(2048),
    call: short(128),
    description: short(500).default(''),
    mimeType: short(100).default(''),
    serviceName: short(32).default(''),
    tags: z.array(short(32)).max(5).default([]),
    iconUrl: short(2048).default(''),
    issuedAt: seconds,
    until: seconds.default(0),
  }),
  signature: z.string().regex(/^0x(?:[0-9a-fA-F]{2}){1,4096}$/),
});

type Body = z.output<typeof BODY>;

/** @throws CodedError `invalid_statement`, with the field that is wrong. */
export function readStatement(body: unknown, catalogueUrl: string): SignedStatement {
  const read = BODY.safeParse(isJsonObject(body) ? body : {});
  if (!read.success) throw invalid(read.error.issues[0]?.path.map(String).join('.') ?? '');
  const { network, statement: said, signature } = read.data;
  const chainId = chainIdOf(network);
  if (chainId === undefined) throw invalid('network');
  const payTo = readAddress(said.payTo);
  if (payTo === undefined) throw invalid('statement.payTo');
  const { action, type, resource, call, issuedAt, until } = said;
  const words = wordsOf(said);
  if ((action === 'correct') !== Object.keys(words).length > 0) throw invalid('statement.action');
  if (until !== 0 && until <= issuedAt) throw invalid('statement.until');
  const message = { ...said, payTo, issuedAt: BigInt(issuedAt), until: BigInt(until) };
  return {
    statement: {
      chainId,
      payTo,
      type,
      resource,
      call,
      action,
      words,
      issuedAt: issuedAt * 1000,
      endsAt: until === 0 ? undefined : until * 1000,
    },
    digest: hashTypedData({
      domain: statementDomain(catalogueUrl, chainId),
      types: STATEMENT_TYPES,
      primaryType: 'CatalogueStatement',
      message,
    }),
    signature: signature.toLowerCase() as Hex,
  };
}

/** What the reader of declarations would change is refused: what was signed is what is shown. */
function wordsOf({ description, mimeType, serviceName, tags, iconUrl }: Body['statement']): Words {
  const said = { description, mimeType, serviceName, tags, iconUrl };
  const words = readWords(said);
  for (const [name, value] of Object.entries(said)) {
    const kept = words[name as keyof Words];
    if (value.length > 0 && JSON.stringify(kept) !== JSON.stringify(value)) {
      throw invalid(`statement.${name}`);
    }
  }
  return words;
}

function invalid(path: string): CodedError {
  return new CodedError(
    ...([400, 'invalid_statement'] as const),
    `${path === '' ? 'body' : path}: is missing, or is not as docs/discovery.md says.`,
  );
}
