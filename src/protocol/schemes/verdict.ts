import type { Address, Hex } from 'viem';
import type { ApprovalChain, ApprovalLimits, ConfirmPayer } from '../evm/approval-chain.js';
import type { Authorization } from '../evm/authorization.js';
import type { ChainReader, Sender } from '../evm/chain-reader.js';
import type { JsonObject } from '../payment/wire-values.js';
import type { Reason } from '../reasons.js';

/**
 * Seconds an authorization must stay valid from now, so that it can still be mined: the margin of the
 * reference facilitator, and about thirteen blocks of BNB Chain.
 */
export const EXPIRY_MARGIN_SECONDS = 6n;

/** Recovers the signer of a 65-byte signature; `undefined` when the signature is invalid. */
export type RecoverSigner = (digest: Hex, signature: Hex) => Address | undefined;

/** The same where many are recovered at a time. */
export type RecoverSignerAsync = (digest: Hex, signature: Hex) => Promise<Address | undefined>;

export interface VerifyContext {
  readonly chain: ChainReader;
  readonly recoverSigner: RecoverSignerAsync;
  /** Unix seconds of the host clock. */
  readonly now: number;
  /** Gas one settlement may cost; a transfer that needs more is refused. */
  readonly maxGas: bigint;
  /** Contracts that may be called to make a payer's wallet. Lower case. */
  readonly walletFactories: ReadonlySet<Address>;
  /** The lane account that would send the settlement; `undefined` while no lane is known. */
  readonly sender: Sender | undefined;
  /** The suffix of the settlement's calldata. */
  readonly dataSuffix?: Hex | undefined;
  /** Present where the operator pays for the approvals of payers on this chain. */
  readonly approvals?: {
    readonly chain: ApprovalChain;
    readonly limits: ApprovalLimits;
    readonly confirm: ConfirmPayer;
  };
}

export interface GoodVerdict {
  readonly isValid: true;
  readonly authorization: Authorization;
  /** A payer with code (contract wallet, EIP-7702 account) is settled alone, never in a batch. */
  readonly payerHasCode: boolean;
  /** The scheme's own fields of a verify answer. */
  readonly extra?: JsonObject;
  /** What it is for is done, by the state of the contract: there is nothing to send. */
  readonly isDone?: boolean;
  /**
   * Atomic units of each token that accounts get by it, where that is not the required amount: one amount for each thing
   * that it does, as each costs gas.
   */
  readonly brings?: ReadonlyMap<Address, readonly bigint[]>;
}

export interface Refusal {
  readonly isValid: false;
  readonly reason: Reason;
  /** Whether the refusal was read from chain state, which another request may be changing. */
  readonly isFromChainState: boolean;
  /** Unix seconds: refused for no more than that the newest block is older than this. */
  readonly validFrom?: bigint;
  /** The contracts' revert reason as a sentence of this service, where the reason names no cause. */
  readonly cause?: string;
}

export type Verdict = GoodVerdict | Refusal;

/**
 * How much of the payment is judged. `terms` stops before anything that changes with time: it answers
 * whether the payer signed exactly this payment to this seller.
 */
export type VerifyScope = 'full' | 'terms';

export const refuse = (reason: Reason): Refusal => ({
  isValid: false,
  reason,
  isFromChainState: false,
});
export const refuseByState = (reason: Reason): Refusal => ({
  isValid: false,
  reason,
  isFromChainState: true,
});
