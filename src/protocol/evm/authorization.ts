import type { Address, Hex } from 'viem';
import type { Eip3009Claim, Permit2Claim, UptoClaim } from '../payment/payment.js';
import { isUint256 } from '../payment/wire-values.js';
import type { Deployment } from './erc6492.js';
import type { PayerTransaction } from './payer-transaction.js';
import type { ActionName } from './transfer-method.js';

/** A well-formed authorization; its other fields belong to the scheme. */
export interface Authorization extends ActionName {
  readonly from: Address;
  /** The signature to present on chain. */
  readonly signature: Hex;
}

/** A well-formed EIP-3009 authorization: every field fits its EIP-712 type. */
export interface Eip3009Authorization extends Authorization {
  readonly method: 'eip3009';
  readonly from: Address;
  readonly to: Address;
  /** Atomic units. */
  readonly value: bigint;
  /** Unix seconds. */
  readonly validAfter: bigint;
  /** Unix seconds. */
  readonly validBefore: bigint;
  /** 32 bytes. */
  readonly nonce: Hex;
  /** The signature to present on chain: inner signature of an ERC-6492 wrapper, v of a key as 27 or 28. */
  readonly signature: Hex;
  /** The deployment of the wallet of the payer; absent if the wallet is deployed, or the payer has a key. */
  readonly deployment?: Deployment;
}

/** An EIP-2612 permit that the proxy executes before it moves the tokens (`settleWithPermit`). */
export interface SponsoredPermit {
  /** Atomic units; the proxy requires that it equals the permitted amount. */
  readonly value: bigint;
  /** Unix seconds. */
  readonly deadline: bigint;
  readonly r: Hex;
  readonly s: Hex;
  readonly v: number;
}

/** The approval of Permit2 that comes with a payment, for a payer without a sufficient one. */
export interface PayerApproval {
  /** An EIP-2612 permit of the token to Permit2, executed in the same transaction. */
  readonly sponsoredPermit: SponsoredPermit | undefined;
  /** The payer's own approval to Permit2, which must be mined before the payment is sent. */
  readonly sponsoredApproval?: PayerTransaction;
}

/** A well-formed Permit2 permit for an x402 proxy. */
export interface Permit2Authorization extends Authorization, PayerApproval {
  readonly method: 'permit2';
  readonly from: Address;
  readonly token: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly spender: Address;
  readonly nonce: bigint;
  /** Unix seconds. */
  readonly deadline: bigint;
  readonly witnessTo: Address;
  /** Unix seconds. */
  readonly witnessValidAfter: bigint;
  readonly signature: Hex;
}

/** The same for the x402 upto proxy: `amount` is the maximum. */
export interface UptoAuthorization extends Permit2Authorization {
  readonly scheme: 'upto';
  /** The only account that may present it. */
  readonly facilitator: Address;
}

export type ExactAuthorization = Eip3009Authorization | Permit2Authorization;

/** The claim as an authorization, or `undefined` when no wallet can have signed it. */
export function asEip3009Authorization(
  claim: Eip3009Claim,
  signature: Hex,
): Eip3009Authorization | undefined {
  const { from, to, value, validAfter, validBefore, nonce } = claim;
  if (from === undefined || to === undefined || nonce === undefined) return undefined;
  if (!claim.hasValidChecksums) return undefined;
  if (![value, validAfter, validBefore].every(isUint256)) return undefined;
  return { method: 'eip3009', from, to, value, validAfter, validBefore, nonce, signature };
}

/** The claim as an authorization, or `undefined` when no wallet can have signed it. */
export function asPermit2Authorization(
  claim: Permit2Claim,
  signature: Hex,
  sponsoredPermit: SponsoredPermit | undefined,
): Permit2Authorization | undefined {
  const { from, token, amount, spender, nonce, deadline, witnessTo, witnessValidAfter } = claim;
  if (![amount, nonce, deadline, witnessValidAfter].every(isUint256)) return undefined;
  return {
    method: 'permit2',
    from,
    token,
    amount,
    spender,
    nonce,
    deadline,
    witnessTo,
    witnessValidAfter,
    signature,
    sponsoredPermit,
  };
}

/** The same for the x402 upto proxy. */
export function asUptoAuthorization(
  claim: UptoClaim,
  signature: Hex,
  sponsoredPermit: SponsoredPermit | undefined,
): UptoAuthorization | undefined {
  const permit = asPermit2Authorization(claim, signature, sponsoredPermit);
  return permit && { ...permit, scheme: claim.scheme, facilitator: claim.facilitator };
}
