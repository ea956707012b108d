import type { Address, Hex } from 'viem';
import type { ApprovalChain, ApprovalLimits, ConfirmPayer } from '../evm/approval-chain.js';
import type { Authorization } from '../evm/authorization.js';
import type { ChainReader, Sender } from '../evm/chain-reader.js';
import type { JsonObject } from '../payment/wire-values.js';
import type { Reason } from '../reasons.js';

/**
 * Seconds that an authorization must stay valid, so that it can still be mined: the margin of the reference
 * facilitator, and about thirteen blocks of BNB Chain.
 */
export const EXPIRY_MARGIN_SECONDS = 6n;

/** Recovers the signer of a 65-byte signature; `undefined` for an invalid signature. */
export type RecoverSigner = (digest: Hex, signature: Hex) => Address | undefined;

/** The asynchronous form, for many signatures at a time. */
export type RecoverSignerAsync = (digest: Hex, signature: Hex) => Promise<Address | undefined>;

export interface VerifyContext {
  readonly chain: ChainReader;
  readonly recoverSigner: RecoverSignerAsync;
  /** Unix seconds of the host clock. */
  readonly now: number;
  /** Maximum gas of one settlement; a transfer that needs more is refused. */
  readonly maxGas: bigint;
  /** Allowed factories for wallets of payers. Lower case. */
  readonly walletFactories: ReadonlySet<Address>;
  /** The account of the lane that would send the settlement; `undefined` while no lane is known. */
  readonly sender: Sender | undefined;
  /** The suffix of the settlement's calldata. */
  readonly dataSuffix?: Hex | undefined;
  /** Present if the operator pays for approvals of payers on this chain. */
  readonly approvals?: {
    readonly chain: ApprovalChain;
    readonly limits: ApprovalLimits;
    readonly confirm: ConfirmPayer;
  };
}

export interface GoodVerdict {
  readonly isValid: true;
  readonly authorization: Authorization;
  /** Payments of a payer with code (contract wallet, EIP-7702 account) are never sent in a batch. */
  readonly payerHasCode: boolean;
  /** The scheme's own fields of a verify answer. */
  readonly extra?: JsonObject;
  /** The state of the contract shows that the action is already done, so nothing is sent. */
  readonly isDone?: boolean;
  /**
   * Atomic units of each token that the action moves, if not the required amount: one amount for each part, because
   * each part costs gas.
   */
  readonly brings?: ReadonlyMap<Address, readonly bigint[]>;
}

export interface Refusal {
  readonly isValid: false;
  readonly reason: Reason;
  /** Whether the refusal depends on chain state, which another request may be changing. */
  readonly isFromChainState: boolean;
  /**
   * The state of the contract shows that the action is done, and its signature was verified: only a record of it could
   * answer a repeat with success.
   */
  readonly isDone?: boolean;
  /** Unix seconds. The payment is refused only because the newest block is older than this. */
  readonly validFrom?: bigint;
  /** The revert reason as a sentence of this service, for a reason that names no cause. */
  readonly cause?: string;
}

export type Verdict = GoodVerdict | Refusal;

/**
 * How much of a payment is verified. `terms` stops before everything that changes with time: it only shows that the
 * payer signed exactly this payment for this seller.
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
