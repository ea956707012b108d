import type { Address, Hex } from 'viem';
import type { Call } from '../evm/calls.js';
import type { CallOutcome } from '../evm/chain-reader.js';
import type { PaidLog, ReceiptLog } from '../evm/logs.js';
import type { ActionMethod } from '../evm/transfer-method.js';
import type { HashPart } from '../payment/hash.js';

/** An authorization as the chain knows it, and the payment it should make where that is known. */
export interface AuthorizationRef {
  readonly method: ActionMethod;
  readonly asset: Address;
  readonly payer: Address;
  readonly nonce: bigint;
  readonly payTo?: Address;
  /** Atomic units. */
  readonly amount?: bigint;
  /** Where the payer may use it for something else: the logs that alone show this payment. */
  readonly shownBy?: PaidLog;
}

/** An authorization that some transaction presents to the chain, read from its calldata. */
export interface PresentedAuthorization {
  readonly method: ActionMethod;
  readonly token: Address;
  readonly from: Address;
  readonly to: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly nonce: bigint;
}

/** Topics of a log filter, as in JSON-RPC: `null` takes anything, a list takes any of its members. */
export type LogTopics = readonly (Hex | readonly Hex[] | null)[];

/** What makes two requests for an action the same. */
export interface ActionKind {
  readonly name: ActionMethod;
  /** What the chain executes at most once, as the parts of its name. */
  keyOf(chainId: number, asset: Address, payer: Address, nonce: bigint): readonly HashPart[];
}

/**
 * How the chain keeps an authorization from being executed twice, and where it shows that it was. Several
 * schemes may share one method.
 */
export interface AuthorizationMethod extends ActionKind {
  /** Asks the chain whether an authorization was executed or cancelled. */
  stateCall(ref: AuthorizationRef): Call;
  /** `undefined` where the answer cannot be decoded. */
  readState(outcome: CallOutcome, ref: AuthorizationRef): boolean | undefined;

  /**
   * First topics of the events that name an authorization as used or cancelled. Empty where a use leaves
   * no event of its own: then only calldata shows who it was.
   */
  readonly useEvents: readonly Hex[];
  /** Logs of the token among which a use is, whether or not they name it. */
  searchTopics(ref: AuthorizationRef): LogTopics;
  /** Whether logs name this authorization as used or cancelled. */
  isNamedIn(logs: readonly ReceiptLog[], ref: AuthorizationRef): boolean;
  /** Whether logs name this authorization as executed, and not as cancelled. */
  isExecutedIn(logs: readonly ReceiptLog[], ref: AuthorizationRef): boolean;
}
