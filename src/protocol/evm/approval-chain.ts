import type { Address, Hex } from 'viem';
import type { Call } from './calls.js';
import type { CallOutcome, ChainReader, Effect, Sender, Settlement } from './chain-reader.js';

/** The most that the operator pays for one approval of a payer. */
export interface ApprovalLimits {
  /** Gas limit of the payer's transaction. */
  readonly gas: bigint;
  /** Wei for a unit of gas. */
  readonly maxFeePerGas: bigint;
  /** Wei that a payer is sent for it. */
  readonly topUpWei: bigint;
  /** The least tip that nodes of this chain take, in wei for a unit of gas; `undefined` where it is not known. */
  readonly leastTipWei?: bigint | undefined;
}

/** A call that comes before a settlement, in a transaction of its own. */
export interface FirstCall {
  readonly call: Call;
  readonly from: Address;
  /** Gas limit of its transaction. */
  readonly gas: bigint;
}

/** The effect of a settlement with a call before it. */
export type EffectAfter = Effect | { readonly status: 'first_failed' };

/** The account of a payer and the price of gas, at one moment. */
export interface PayerAccount {
  /** Account nonces below this are used. */
  readonly used: number;
  /** Account nonces below this are used, or waited for in pools. */
  readonly pending: number;
  /** Whether the payer's own transaction is known, mined or not. */
  readonly isKnown: boolean;
  readonly balanceWei: bigint;
  readonly baseFeePerGas: bigint | undefined;
  /** For a unit of gas, base fee and tip together, as nodes suggest it. */
  readonly gasPriceWei: bigint;
}

/**
 * The account as two endpoints see it, where there are two: one endpoint alone is no ground for a refusal.
 *
 * @param hash - of the payer's own transaction.
 * @throws ChainUnavailableError, also where the endpoints contradict each other.
 */
export type ConfirmPayer = (payer: Address, hash: Hex) => Promise<PayerAccount>;

/** The reads for verifying a payer's own transaction, beside those of every verification. */
export interface ApprovalChain extends ChainReader {
  /** Whether the operator vouches for the code of a token. */
  isTrusted(token: Address): boolean;
  /** Account nonces below this are used; `pending` counts what is in the pool of this node too. */
  transactionCount(account: Address, at: 'latest' | 'pending'): Promise<number>;
  /** `undefined` where this node knows no such transaction, mined or not. */
  transaction(hash: Hex): Promise<object | undefined>;
  /** Wei. */
  balance(account: Address): Promise<bigint>;
  latestBlock(): Promise<{ readonly baseFeePerGas: bigint | undefined }>;
  /** Wei for a unit of gas, base fee and tip together, as the node suggests it. */
  gasPrice(): Promise<bigint>;
  callFrom(sender: Sender | undefined, call: Call, gas: bigint): Promise<CallOutcome>;
  /** Simulates both on top of each other; `undefined` where this node cannot. */
  simulateAfter(first: FirstCall, settlement: Settlement): Promise<EffectAfter | undefined>;
}
