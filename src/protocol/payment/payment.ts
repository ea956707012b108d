import type { Address, Hex } from 'viem';
import type { ActionName } from '../evm/transfer-method.js';
import type { BuilderCodes } from './builder-code.js';

/** The purpose of a request: to verify a payment, or to settle it. */
export type Purpose = 'verify' | 'settle';

/**
 * One payment in a form independent of the protocol version: the seller's requirements and the buyer's payload.
 * `parse-payment.ts` maps V1 and V2 bodies to it; below that file only `dialect` shows the version.
 */
export interface Payment {
  /** A scheme may settle less than was signed; then the requirements of verify and settle differ. */
  readonly purpose: Purpose;
  readonly requirements: Requirements;
  /** The terms that the buyer accepted. Only these two fields are compared, as in the reference. */
  readonly accepted: { readonly scheme: unknown; readonly network: unknown };
  readonly claim: Claim;
  readonly dialect: VersionRules;
  /** The network as spelled in this request; every settle answer repeats it. */
  readonly networkAsSent: string;
  /** `from` exactly as sent, where it parses as an address; every answer repeats it. */
  readonly payerAsSent: string | undefined;
  /** The buyer's label of this payment, which proves nothing. */
  readonly label?: string;
  /** The originators of its transaction, by names that prove nothing. */
  readonly builderCodes?: BuilderCodes;
}

/** The seller's own terms (`paymentRequirements`), never the buyer's copy of them. */
export interface Requirements {
  /** CAIP-2. */
  readonly network: string;
  readonly chainId: number;
  readonly asset: Address;
  readonly payTo: Address;
  /** Atomic units to settle. */
  readonly amount: bigint;
  /** `extra.name` and `extra.version` as sent: the token's EIP-712 domain. */
  readonly tokenName: unknown;
  readonly tokenVersion: unknown;
  /** The network in the spelling of the seller's own version, for comparing with `accepted`. */
  readonly networkAsSent: string;
}

/** The few differences between the answers of V1 and V2 about the same fact. */
export interface VersionRules {
  readonly x402Version: 1 | 2;
  /** Whether this version knows the network that the buyer accepted; V1 checks that first. */
  readonly isAcceptedNetworkKnown: boolean;
}

/** The payload of a buyer; its other fields belong to the scheme. */
export interface Claim extends ActionName {
  readonly from: Address | undefined;
  /** Of the authorization. */
  readonly nonce: Hex | bigint | undefined;
  readonly signature: Hex | undefined;
}

/**
 * An EIP-3009 authorization as sent. Fields that do not fit their EIP-712 type are `undefined` or out of range: no
 * wallet can have signed such a claim, and the signature check refuses it.
 */
export interface Eip3009Claim extends Claim {
  readonly method: 'eip3009';
  readonly from: Address | undefined;
  readonly to: Address | undefined;
  readonly value: bigint;
  /** Unix seconds. */
  readonly validAfter: bigint;
  /** Unix seconds. */
  readonly validBefore: bigint;
  /** 32 bytes. */
  readonly nonce: Hex | undefined;
  /** A mixed-case address that fails its EIP-55 checksum was never signed by a conforming wallet. */
  readonly hasValidChecksums: boolean;
  readonly signature: Hex | undefined;
  /** Whether the sent signature is longer than the limit. */
  readonly isSignatureTooLong?: boolean;
}

/** A Permit2 `PermitWitnessTransferFrom` as sent, addressed to an x402 proxy. */
export interface Permit2Claim extends Claim {
  readonly method: 'permit2';
  readonly from: Address;
  readonly token: Address;
  readonly amount: bigint;
  readonly spender: Address;
  readonly nonce: bigint;
  /** Unix seconds. */
  readonly deadline: bigint;
  readonly witnessTo: Address;
  /** Unix seconds. */
  readonly witnessValidAfter: bigint;
  readonly signature: Hex | undefined;
  /** The `eip2612GasSponsoring` info, when all its fields are present. */
  readonly sponsoredPermit: SponsoredPermitClaim | undefined;
  /** The `erc20ApprovalGasSponsoring` info, likewise. */
  readonly sponsoredApproval?: SponsoredApprovalClaim | undefined;
}

/** The same for the x402 upto proxy: `amount` is the maximum. */
export interface UptoClaim extends Permit2Claim {
  readonly scheme: 'upto';
  /** The only account that may present it. */
  readonly facilitator: Address;
}

/** `extensions.eip2612GasSponsoring.info` as sent; checked by `sponsored-permit.ts`. */
export interface SponsoredPermitClaim {
  readonly from: unknown;
  readonly asset: unknown;
  readonly spender: unknown;
  readonly amount: unknown;
  readonly nonce: unknown;
  readonly deadline: unknown;
  readonly signature: unknown;
  readonly version: unknown;
}

/** `extensions.erc20ApprovalGasSponsoring.info` as sent; checked by `sponsored-approval.ts`. */
export interface SponsoredApprovalClaim {
  readonly from: unknown;
  readonly asset: unknown;
  readonly spender: unknown;
  readonly amount: unknown;
  readonly signedTransaction: unknown;
  readonly version: unknown;
}
