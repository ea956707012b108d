import type { Address, Hex } from 'viem';
import type { Call } from './calls.js';
import type { CallOutcome, ChainReader, Effect, Sender, Settlement } from './chain-reader.js';

/** The maximum that the operator pays for one approval of a payer. */
export interface ApprovalLimits {
  /** Gas limit of the transaction of the payer. */
  readonly gas: bigint;
  /** Wei per unit of gas. */
  readonly maxFeePerGas: bigint;
  /** Maximum wei that a payer is sent for the transaction. */
  readonly topUpWei: bigint;
  /** The minimum tip of the nodes of this chain, in wei per unit of gas; `undefined` if unknown. */
  readonly leastTipWei?: bigint | undefined;
}

/** A call before a settlement, in a separate transaction. */
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
  /** Account nonces below this are used, or pending in pools. */
  readonly pending: number;
  /** Whether a node knows the transaction of the payer, mined or not. */
  readonly isKnown: boolean;
  readonly balanceWei: bigint;
  readonly baseFeePerGas: bigint | undefined;
  /** Base fee and tip as nodes suggest them, in wei per unit of gas. */
  readonly gasPriceWei: bigint;
}

/**
 * Reads the account from two endpoints that must agree, if there are two: one endpoint alone must not cause a
 * refusal.
 *
 * @param hash - of the transaction of the payer.
 * @throws ChainUnavailableError, also if the endpoints disagree.
 */
export type ConfirmPayer = (payer: Address, hash: Hex) => Promise<PayerAccount>;

/** The reads for verifying a payer's own transaction, besides those of every verification. */
export interface ApprovalChain extends ChainReader {
  /** Whether the operator trusts the code of a token. */
  isTrusted(token: Address): boolean;
  /** Account nonces below this are used; `pending` also counts the pool of this node. */
  transactionCount(account: Address, at: 'latest' | 'pending'): Promise<number>;
  /** `undefined` if this node does not know the transaction, mined or not. */
  transaction(hash: Hex): Promise<object | undefined>;
  /** Wei. */
  balance(account: Address): Promise<bigint>;
  latestBlock(): Promise<{ readonly baseFeePerGas: bigint | undefined }>;
  /** Base fee and tip as the node suggests them, in wei per unit of gas. */
  gasPrice(): Promise<bigint>;
  callFrom(sender: Sender | undefined, call: Call, gas: bigint): Promise<CallOutcome>;
  /** Simulates both calls in sequence; `undefined` if this node cannot. */
  simulateAfter(first: FirstCall, settlement: Settlement): Promise<EffectAfter | undefined>;
}
