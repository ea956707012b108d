import { type Address, hashTypedData, type Hex } from 'viem';
import { CodedError } from '../../platform/http/coded-error.js';
import type { ListingType } from '../../protocol/listing/listing.js';
import { readWords, type Words } from '../../protocol/listing/read-declaration.js';
import { chainIdOf } from '../../protocol/payment/network.js';
import { readAddress } from '../../protocol/payment/wire-values.js';

/**
 * - `remove`: the entry is removed, and no payment lists it again.
 * - `correct`: the entry has these texts, whatever is declared.
 * - `restore`: earlier statements are no longer valid.
 */
export type StatementAction = 'remove' | 'correct' | 'restore';

/** The entry of a statement, which must be the payee's own. */
export interface EntryName {
  readonly chainId: number;
  readonly payTo: Address;
  readonly type: ListingType;
  /** The listed URL or template. */
  readonly resource: string;
  /** The method of a request, or the name of a tool. */
  readonly call: string;
}

/** A payee's signed statement about one of its entries. */
export interface Statement extends EntryName {
  readonly action: StatementAction;
  /** The corrected texts. */
  readonly words: Words;
  /** Milliseconds. */
  readonly issuedAt: number;
  /** Milliseconds; `undefined` where only the next statement ends it. */
  readonly endsAt: number | undefined;
}

/** A statement with its signed data. */
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

/**
 * The domain holds the URL of the catalogue, which wallets show: a signature for one catalogue is invalid for another.
 */
export function statementDomain(catalogueUrl: string, chainId: number): StatementDomain {
  return { name: `x402 catalogue at ${catalogueUrl}`, version: '1', chainId };
}

/** A statement validated by its DTO class. Empty texts correct nothing. */
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

/** @throws CodedError `invalid_statement`, with the malformed field. */
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

/** A text that the reader of declarations would change is refused, so that the entry shows exactly the signed text. */
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
  const message = `${path} is malformed: docs/discovery.md describes it.`;
  const place = { path, expected: 'the form of docs/discovery.md' };
  return new CodedError(400, 'invalid_statement', message, { place });
}
