import { hash } from 'node:crypto';
import type { Address } from 'viem';
import type { Authorization } from '../evm/authorization.js';
import { PERMIT2 } from '../evm/contracts.js';
import type { Payment } from './payment.js';
import { isUint256 } from './wire-values.js';
import type { TransferMethod } from '../evm/transfer-method.js';

/**
 * How a payment is recognised. All names are hashes of parsed values, so that spelling (letter case,
 * leading zeros, hex or decimal) makes no difference. They are never cut: the payer chooses what goes
 * into them. 43 characters each, URL-safe.
 */
export interface PaymentIdentity {
  /**
   * The authorization key, which is what the chain executes at most once: (chain, token, payer, nonce)
   * for EIP-3009, (chain, Permit2, payer, nonce) for Permit2.
   */
  readonly authorizationId: string;
  /** Everything the payer committed to. Two payments of one authorization with other terms differ. */
  readonly termsTag: string;
  /** The terms, the signature domain and the signature byte for byte. */
  readonly signedTag: string;
}

export function authorizationIdOf(
  method: TransferMethod,
  chainId: number,
  asset: Address,
  payer: Address,
  nonce: bigint,
): string {
  return hashOf(authorizationKey(method, chainId, asset, payer, nonce));
}

/**
 * The id of one claim of a payment. A claim made again by the same requester is the same claim; another
 * requester's is another one.
 *
 * @param generation - the id of the requester that claims.
 */
export function settlementIdOf(
  { authorizationId, termsTag }: Pick<PaymentIdentity, 'authorizationId' | 'termsTag'>,
  generation: string,
): string {
  return hashOf([authorizationId, termsTag, generation]);
}

function authorizationKey(
  method: TransferMethod,
  chainId: number,
  asset: Address,
  payer: Address,
  nonce: bigint,
): readonly HashPart[] {
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

/** What can be told of a payment from its authorization alone, without the signature as it was sent. */
export function termsOf(
  chainId: number,
  asset: Address,
  authorization: Authorization,
): Pick<PaymentIdentity, 'authorizationId' | 'termsTag'> {
  if (authorization.method === 'eip3009') {
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    const key = authorizationKey('eip3009', chainId, asset, from, BigInt(nonce));
    const terms = [to, value, validAfter, validBefore];
    return { authorizationId: hashOf(key), termsTag: hashOf([...key, ...terms]) };
  }
  const { from, token, amount, spender, nonce, deadline, witnessTo } = authorization;
  const key = authorizationKey('permit2', chainId, asset, from, nonce);
  const terms = [token, amount, spender, deadline, witnessTo, authorization.witnessValidAfter];
  return { authorizationId: hashOf(key), termsTag: hashOf([...key, ...terms]) };
}

/** What is not text has no name or version to sign over, and may not be convertible to text at all. */
function textOrNothing(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function identify(
  key: readonly HashPart[],
  terms: readonly HashPart[],
  domain: readonly HashPart[],
  signature: string | undefined,
): PaymentIdentity {
  return {
    authorizationId: hashOf(key),
    termsTag: hashOf([...key, ...terms]),
    signedTag: hashOf([...key, ...terms, ...domain, signature]),
  };
}

type HashPart = string | number | bigint | undefined;

/** SHA-256 in base64url, 43 characters. JSON keeps the parts apart: none can spill into the next one. */
export function hashOf(parts: readonly HashPart[]): string {
  const text = JSON.stringify(parts.map((part) => (part === undefined ? null : String(part))));
  return hash('sha256', text, 'base64url');
}
