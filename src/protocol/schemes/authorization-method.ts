import type { Address, Hex } from 'viem';
import type { Call } from '../evm/calls.js';
import type { CallOutcome } from '../evm/chain-reader.js';
import type { PaidLog, ReceiptLog } from '../evm/logs.js';
import type { ActionMethod } from '../evm/transfer-method.js';
import type { HashPart } from '../payment/hash.js';

/** An authorization as the chain knows it, with the payment it should make, if known. */
export interface AuthorizationRef {
  readonly method: ActionMethod;
  readonly asset: Address;
  readonly payer: Address;
  readonly nonce: bigint;
  readonly payTo?: Address;
  /** Atomic units. */
  readonly amount?: bigint;
  /** Set if the payer may use the authorization for something else: the only logs that prove this payment. */
  readonly shownBy?: PaidLog;
}

/** An authorization in the calldata of some transaction. */
export interface PresentedAuthorization {
  readonly method: ActionMethod;
  readonly token: Address;
  readonly from: Address;
  readonly to: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly nonce: bigint;
}

/** Topics of a log filter, as in JSON-RPC: `null` matches anything, a list matches any of its members. */
export type LogTopics = readonly (Hex | readonly Hex[] | null)[];

/** The rules by which two requests are for the same action. */
export interface ActionKind {
  readonly name: ActionMethod;
  /** The parts of the id that the chain executes at most once. */
  keyOf(chainId: number, asset: Address, payer: Address, nonce: bigint): readonly HashPart[];
}

/**
 * How the chain prevents a second execution of an authorization, and where it shows the use. Several schemes may share
 * one method.
 */
export interface AuthorizationMethod extends ActionKind {
  /** The call that reads whether an authorization was executed or cancelled. */
  stateCall(ref: AuthorizationRef): Call;
  /** `undefined` for an undecodable answer. */
  readState(outcome: CallOutcome, ref: AuthorizationRef): boolean | undefined;

  /**
   * First topics of the events that name a used or cancelled authorization. Empty if a use leaves no event: then only
   * calldata shows it.
   */
  readonly useEvents: readonly Hex[];
  /** A log filter at the token that includes a use, whether or not the logs name the authorization. */
  searchTopics(ref: AuthorizationRef): LogTopics;
  /** Whether logs name this authorization as used or cancelled. */
  isNamedIn(logs: readonly ReceiptLog[], ref: AuthorizationRef): boolean;
  /** Whether logs name this authorization as executed, not as cancelled. */
  isExecutedIn(logs: readonly ReceiptLog[], ref: AuthorizationRef): boolean;
}
