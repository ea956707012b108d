import { type Address, hashTypedData, type Hex } from 'viem';
import { CodedError } from '../../platform/http/coded-error.js';
import type { ListingType } from '../../protocol/listing/listing.js';
import { readWords, type Words } from '../../protocol/listing/read-declaration.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';

/**
 * - `remove`: the entry is taken away, and no payment brings it back.
 * - `correct`: its words are these, whatever is declared.
 * - `restore`: the statements before are not valid any more.
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

/** The signed message (EIP-712). Empty text fields correct nothing. */
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

/** A statement as its DTO class has validated it. Words that are empty are not corrected. */
interface StatementFields {
  readonly action: StatementAction;
  readonly payTo: string;
  readonly type: ListingType;
  readonly resource: string;
  readonly call: string;
  readonly description: string;
  readonly mimeType: string;
  readonly serviceName: string;
  readonly tags: readonly string[];
  readonly iconUrl: string;
  readonly issuedAt: number;
  readonly until: number;
}

interface SignedBody {
  readonly network: string;
  readonly statement: StatementFields;
  readonly signature: string;
}

/** @throws CodedError `invalid_statement`, with the field that is wrong. */
export function signedStatement(
  { network, statement: texts, signature }: SignedBody,
  catalogueUrl: string,
): SignedStatement {
  const [chainId, payTo] = [chainIdOf(network), readAddress(texts.payTo)];
  if (chainId === undefined || payTo === undefined) throw invalid('network');
  const { action, type, resource, call, issuedAt, until } = texts;
  const words = wordsOf(texts);
  if ((action === 'correct') !== Object.keys(words).length > 0) throw invalid('statement.action');
  if (until !== 0 && until <= issuedAt) throw invalid('statement.until');
  const message = { ...texts, payTo, issuedAt: BigInt(issuedAt), until: BigInt(until) };
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
function wordsOf({ description, mimeType, serviceName, tags, iconUrl }: StatementFields): Words {
  const texts = { description, mimeType, serviceName, tags, iconUrl };
  const words = readWords(texts);
  for (const [name, value] of Object.entries(texts)) {
    const kept = words[name as keyof Words];
    if (value.length > 0 && JSON.stringify(kept) !== JSON.stringify(value)) {
      throw invalid(`statement.${name}`);
    }
  }
  return words;
}

function invalid(path: string): CodedError {
  return new CodedError(
    400,
    'invalid_statement',
    `${path} is malformed: docs/discovery.md describes it.`,
  );
}
