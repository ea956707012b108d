import type { Address, Hex } from 'viem';
import {
  LINK_TYPES,
  STRICT_TYPES,
  strictDomain,
  UPLOAD_TYPES,
} from '../../protocol/hub/hub-messages.js';
import type { TypedData } from '../rules/spending.js';

/** One request to the hub, as its owner signs it. */
interface RequestTerms {
  /** Lower case. */
  readonly owner: Address;
  readonly method: string;
  /** With the query, as sent. */
  readonly path: string;
  /** 32 bytes. */
  readonly bodySha256: Hex;
  /** Unix seconds. */
  readonly expiry: number;
  /** 32 bytes. */
  readonly nonce: Hex;
}

/** The rights of a link's bearer to one name. */
interface CommonTerms {
  /** Lower case. */
  readonly owner: Address;
  readonly name: string;
  /** 32 bytes; zero allows any content. */
  readonly sha256: Hex;
  /** Unix seconds. */
  readonly issuedAt: number;
  /** Unix seconds. */
  readonly until: number;
  /** 32 bytes. */
  readonly nonce: Hex;
}

/** Permits reading the file: this content, or the newest content of the name. */
interface ShareTerms extends CommonTerms {
  readonly once: boolean;
}

/** Permits storing the file once. */
interface UploadTerms extends CommonTerms {
  readonly maxBytes: number;
  /** A media type without parameters; empty for any. */
  readonly contentType: string;
}

const DOMAIN_TYPE = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'verifyingContract', type: 'address' },
] as const;

export function requestMessage(hub: Address, terms: RequestTerms): TypedData {
  return {
    domain: strictDomain(hub),
    types: { EIP712Domain: DOMAIN_TYPE, ...STRICT_TYPES },
    primaryType: 'HubRequest',
    message: { ...terms, expiry: BigInt(terms.expiry) },
  };
}

export function shareMessage(hub: Address, terms: ShareTerms): TypedData {
  return {
    domain: strictDomain(hub),
    types: { EIP712Domain: DOMAIN_TYPE, ...LINK_TYPES },
    primaryType: 'HubLink',
    message: { ...terms, issuedAt: BigInt(terms.issuedAt), until: BigInt(terms.until) },
  };
}

export function uploadMessage(hub: Address, terms: UploadTerms): TypedData {
  const { maxBytes, issuedAt, until } = terms;
  return {
    domain: strictDomain(hub),
    types: { EIP712Domain: DOMAIN_TYPE, ...UPLOAD_TYPES },
    primaryType: 'HubUpload',
    message: {
      ...terms,
      maxBytes: BigInt(maxBytes),
      issuedAt: BigInt(issuedAt),
      until: BigInt(until),
    },
  };
}

/** One empty message of each kind, to show their shapes. */
export function hubMessageShapes(hub: Address): readonly TypedData[] {
  const word: Hex = `0x${'00'.repeat(32)}`;
  const nobody = { owner: `0x${'00'.repeat(20)}`, nonce: word } as const;
  const common = { ...nobody, name: '', sha256: word, issuedAt: 0, until: 0 };
  return [
    requestMessage(hub, { ...nobody, method: '', path: '', bodySha256: word, expiry: 0 }),
    shareMessage(hub, { ...common, once: false }),
    uploadMessage(hub, { ...common, maxBytes: 0, contentType: '' }),
  ];
}
