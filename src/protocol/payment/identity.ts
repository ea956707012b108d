import type { Address } from 'viem';
import type { Authorization } from '../evm/authorization.js';
import type { ActionMethod } from '../evm/transfer-method.js';
import { actionOf, kindNamed, rulesOf } from '../schemes/registry.js';
import { hashOf } from './hash.js';
import type { Payment } from './payment.js';

/**
 * The identity of a payment. All names are hashes of parsed values, so that spelling (letter case, leading zeros, hex
 * or decimal) makes no difference. They are never shortened, because the payer chooses their input. 43 characters each,
 * URL-safe.
 */
export interface PaymentIdentity {
  /**
   * The authorization id, which the chain executes at most once: (chain, token, payer, nonce) for EIP-3009, (chain,
   * Permit2, payer, nonce) for Permit2.
   */
  readonly authorizationId: string;
  /** Everything the payer signed. Payments with one authorization and other terms differ. */
  readonly termsTag: string;
  /** The terms, the signature domain and the payer's own signature byte for byte, without a wrapper. */
  readonly signedTag: string;
}

export function authorizationIdOf(
  method: ActionMethod,
  chainId: number,
  asset: Address,
  payer: Address,
  nonce: bigint,
): string {
  return hashOf(kindNamed(method).keyOf(chainId, asset, payer, nonce));
}

/**
 * The id of one claim of a payment. A repeated claim of the same requester has the same id; that of another requester
 * differs.
 *
 * @param generation - the id of the requester that claims.
 */
export function settlementIdOf(
  { authorizationId, termsTag }: Pick<PaymentIdentity, 'authorizationId' | 'termsTag'>,
  generation: string,
): string {
  return hashOf([authorizationId, termsTag, generation]);
}

/** `undefined` for a claim that no wallet can have signed: it is refused before it needs an id. */
export function identityOf({ requirements, claim }: Payment): PaymentIdentity | undefined {
  const parts = rulesOf(claim).signedPartsOf(claim, requirements);
  if (parts === undefined) return undefined;
  const { key, terms, domain, signature = claim.signature } = parts;
  // A payment that is new to the ledger is verified without its tags, so they are computed at the first access.
  let termsTag: string | undefined;
  let signedTag: string | undefined;
  return {
    authorizationId: hashOf(key),
    get termsTag(): string {
      return (termsTag ??= hashOf([...key, ...terms]));
    },
    get signedTag(): string {
      return (signedTag ??= hashOf([...key, ...terms, ...domain, signature]));
    },
  };
}

/** The terms of a payment, from its authorization alone: its signature is not needed. */
export function termsOf(
  chainId: number,
  asset: Address,
  authorization: Authorization,
): Pick<PaymentIdentity, 'authorizationId' | 'termsTag'> {
  const action = actionOf(authorization);
  const nonce = action.nonceOf(authorization);
  const key = action.method.keyOf(chainId, asset, authorization.from, nonce);
  const terms = action.termsOf(authorization);
  return { authorizationId: hashOf(key), termsTag: hashOf([...key, ...terms]) };
}
