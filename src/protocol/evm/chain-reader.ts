import type { Address, Hex } from 'viem';
import type { Call } from './calls.js';
import type { SchemeContracts } from './contracts.js';

/** The result of a call. A call that could not be made throws instead. */
export type CallOutcome =
  | { readonly status: 'returned'; readonly data: Hex }
  | {
      /** The contract reverted and left the rest of its gas. */
      readonly status: 'reverted';
      /** Revert data, if the node returns it. */
      readonly data: Hex | undefined;
    }
  /** The call ran out of gas, or stopped in another way that uses all gas. */
  | { readonly status: 'halted' };

/** The sender of a simulated settlement: the account of the lane that would send the transaction. */
export interface Sender {
  readonly address: Address;
  /** Price that the transaction will pay, in wei per unit of gas. */
  readonly gasPriceWei: bigint;
  /** Wei; a node refuses a simulation that its sender could not pay for. */
  readonly balanceWei: bigint;
}

/** A settlement to simulate, with its expected effect. */
export interface Settlement {
  readonly call: Call;
  /** `undefined` where no lane account is known: the node's default sender, at no price. */
  readonly sender: Sender | undefined;
  /** Whether the call succeeds only from that account. */
  readonly isSenderBound?: boolean;
  /**
   * Whether it may share a round with other questions. The last simulation before money is spent must be identical to
   * the transaction.
   */
  readonly mayJoin?: boolean;
  /** Gas limit of the transaction. */
  readonly gas: bigint;
  readonly token: Address;
  readonly payer: Address;
  /** The account whose code the call may run besides the code of the token; the payer if absent. */
  readonly runsCodeOf?: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
}

/** The effect of a simulated settlement. */
export type Effect =
  | {
      readonly status: 'paid';
      /** After refunds, if the node returns it. */
      readonly gasUsed: bigint | undefined;
    }
  /** The call succeeded, but the balance of the payee did not grow by the amount. */
  | { readonly status: 'unpaid' }
  | Exclude<CallOutcome, { status: 'returned' }>;

export type FailedEffect = Exclude<Effect, { status: 'paid' }>;

/**
 * Gas limit of a question to a token: enough for the heaviest tokens in use, and a bound on the work of a node for one
 * request.
 */
export const READ_GAS = 150_000n;

/**
 * Reads of one chain at its newest block. Every method throws {@link ChainUnavailableError} when no endpoint answers,
 * which says nothing about the payment. No call runs without a gas limit.
 */
export interface ChainReader {
  readonly chainId: number;
  /** The addresses of the schemes' contracts on this chain. */
  readonly schemeContracts: SchemeContracts;
  hasCode(address: Address): Promise<boolean>;
  /**
   * Whether there is a contract at the address of a token. Only a positive answer is cached, for 15 minutes as in the
   * reference.
   */
  isContract(asset: Address): Promise<boolean>;
  /** @param gas - gas limit of the simulated transaction; {@link READ_GAS} when absent. */
  call(call: Call, gas?: bigint): Promise<CallOutcome>;
  /** Simulates a settlement and proves that the payee's balance grows by the amount; all reads are from one state. */
  simulate(settlement: Settlement): Promise<Effect>;
  /** Unix seconds of the newest block. */
  newestTime(): Promise<bigint>;
}

/** The same of the state of one block. */
export type StateReader = Pick<ChainReader, 'chainId' | 'hasCode' | 'call'>;
