import type { Address, Hex } from 'viem';
import type { Call } from './calls.js';
import type { SchemeContracts } from './contracts.js';

/** The result of a call. A call that could not be made at all throws instead. */
export type CallOutcome =
  | { readonly status: 'returned'; readonly data: Hex }
  | {
      /** The contract refused, and left the rest of its gas. */
      readonly status: 'reverted';
      /** Revert data, where the node gives it. */
      readonly data: Hex | undefined;
    }
  /** It ran out of the gas it was given, or broke off in another way that leaves none. */
  | { readonly status: 'halted' };

/** The sender of a simulated settlement: the account of the lane that would send the transaction. */
export interface Sender {
  readonly address: Address;
  /** Wei for a unit of gas that the transaction will pay. */
  readonly gasPriceWei: bigint;
  /** Wei; a node refuses to simulate what its sender could not pay for. */
  readonly balanceWei: bigint;
}

/** A settlement to simulate, and what it must bring about. */
export interface Settlement {
  readonly call: Call;
  /** `undefined` where none of our accounts is known: the node's default sender, at no price. */
  readonly sender: Sender | undefined;
  /** Whether the call succeeds from that account alone. */
  readonly isSenderBound?: boolean;
  /** Whether it may be asked together with others. The last look before money is spent is at exactly what will be sent. */
  readonly mayJoin?: boolean;
  /** Gas limit of the transaction. */
  readonly gas: bigint;
  readonly token: Address;
  readonly payer: Address;
  /** Whose code the call may run beside that of the token; absent where that is the payer's. */
  readonly runsCodeOf?: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
}

/** The effect of a simulated settlement. */
export type Effect =
  | {
      readonly status: 'paid';
      /** After refunds, where the node tells. */
      readonly gasUsed: bigint | undefined;
    }
  /** It succeeded, and the balance of the payee did not grow by the amount. */
  | { readonly status: 'unpaid' }
  | Exclude<CallOutcome, { status: 'returned' }>;

export type FailedEffect = Exclude<Effect, { status: 'paid' }>;

/**
 * Gas that a question to a token may cost: what the heaviest tokens in use take, and a bound on what
 * one request can make a node compute.
 */
export const READ_GAS = 150_000n;

/**
 * Reads of one chain at its newest block. Every method throws {@link ChainUnavailableError} when no
 * endpoint can be asked: that says nothing about the payment. No call runs without a gas limit.
 */
export interface ChainReader {
  readonly chainId: number;
  /** Where the contracts of the schemes are on this chain. */
  readonly schemeContracts: SchemeContracts;
  hasCode(address: Address): Promise<boolean>;
  /**
   * Whether there is a contract at a token's address. A yes is kept for 15 minutes, as the reference
   * does; a no is never kept.
   */
  isContract(asset: Address): Promise<boolean>;
  /** @param gas - gas limit of the simulated transaction; {@link READ_GAS} when absent. */
  call(call: Call, gas?: bigint): Promise<CallOutcome>;
  /**
   * Simulates a settlement, and proves that the payee's balance grows by the amount: before, transfer
   * and after are read from one state.
   */
  simulate(settlement: Settlement): Promise<Effect>;
  /** Unix seconds of the newest block. */
  newestTime(): Promise<bigint>;
}
