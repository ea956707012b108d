import { hash } from 'node:crypto';
import type { Address } from 'viem';
import type { Payment } from '../payment/payment.js';
import { isUint256 } from '../payment/wire-values.js';
import { PERMIT2 } from '../exact/contracts.js';

/**
 * How a payment is recognised. All three names are hashes of parsed values, so that spelling (letter
 * case, leading zeros, hex or decimal) makes no difference.
 */
export interface PaymentIdentity {
  /**
   * The settlement's id: a hash of the authorization key, which is what the chain executes at most
   * once: (chain, token, payer, nonce) for EIP-3009, (chain, Permit2, payer, nonce) for Permit2.
   * 32 characters, URL-safe.
   */
  readonly settlementId: string;
  /** Everything the payer committed to. Two payments with one id and other terms are not the same. */
  readonly termsTag: string;
  /** The terms, the signature domain and the signature byte for byte. */
  readonly signedTag: string;
}

/** 24 bytes leave no room for collisions that a payer could search for. */
const ID_BYTES = 24;
/** Tags are compared only between payments of one id. */
const TAG_BYTES = 12;

/** The id of the settlement that has this authorization key. */
export function settlementIdOf(
  method: 'eip3009' | 'permit2',
  chainId: number,
  asset: Address,
  payer: Address,
  nonce: bigint,
): string {
  return tagOf(authorizationKey(method, chainId, asset, payer, nonce), ID_BYTES);
}

function authorizationKey(
  method: 'eip3009' | 'permit2',
  chainId: number,
  asset: Address,
  payer: Address,
  nonce: bigint,
): readonly TagPart[] {
  return [method, chainId, method === 'eip3009' ? asset : PERMIT2, payer, nonce];
}

/** `undefined` for a claim that no wallet can have signed: it is refused before it needs a name. */
export function identityOf({ requirements, claim }: Payment): PaymentIdentity | undefined {
  const { chainId, asset } = requirements;
  if (claim.method === 'eip3009') {
    if (claim.from === undefined || claim.nonce === undefined) return undefined;
    const key = authorizationKey('eip3009', chainId, asset, claim.from, BigInt(claim.nonce));
    const terms = [claim.to, claim.value, claim.validAfter, claim.validBefore];
    const domain = [requirements.tokenName, requirements.tokenVersion].map(textOrNothing);
    return identify(key, terms, domain, claim.signature);
  }
  if (!isUint256(claim.nonce)) return undefined;
  const key = authorizationKey('permit2', chainId, asset, claim.from, claim.nonce);
  const { token, amount, spender, deadline, witnessTo, witnessValidAfter } = claim;
  const terms = [token, amount, spender, deadline, witnessTo, witnessValidAfter];
  return identify(key, terms, [], claim.signature);
}

/** What is not text has no name or version to sign over, and may not be convertible to text at all. */
function textOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function identify(
  key: readonly TagPart[],
  terms: readonly TagPart[],
  domain: readonly TagPart[],
  signature: string | undefined,
): PaymentIdentity {
  return {
    settlementId: tagOf(key, ID_BYTES),
    termsTag: tagOf([...key, ...terms], TAG_BYTES),
    signedTag: tagOf([...key, ...terms, ...domain, signature], TAG_BYTES),
  };
}

type TagPart = string | number | bigint | undefined;

/** JSON keeps the parts apart: no part can spill into the next one. */
export function tagOf(parts: readonly TagPart[], bytes: number = TAG_BYTES): string {
  const text = JSON.stringify(parts.map((part) => (part === undefined ? null : String(part))));
  // Four characters of base64url hold three bytes.
  return hash('sha256', text, 'base64url').slice(0, (bytes / 3) * 4);
}
