import type { Address, Hex } from 'viem';
import type { ReceiptLog } from '../../protocol/evm/logs.js';

/** A settlement as the books have it; what the ledger never knew is missing. */
export interface RecordedSettlement {
  /** Base64url. */
  readonly id: string;
  readonly state: string;
  readonly isPaid: boolean;
  /** The transaction that decided it. */
  readonly transaction: Hex | undefined;
  readonly blockNumber: bigint | undefined;
  readonly blockHash: Hex | undefined;
  readonly logIndex: number | undefined;
  readonly method: string | undefined;
  readonly asset: Address | undefined;
  readonly payer: Address | undefined;
  readonly payTo: Address | undefined;
  /** The amount to pay, atomic units. */
  readonly amount: bigint | undefined;
  readonly nonce: bigint | undefined;
  /** Every transaction that ever carried it. */
  readonly transactions: readonly Hex[];
}

/** A mined transaction as the chain has it. */
export interface SeenTransaction {
  readonly hash: Hex;
  readonly from: Address;
  readonly to: Address | null;
  readonly nonce: number;
  readonly isSuccess: boolean;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly feeWei: bigint;
  readonly valueWei: bigint;
  readonly logs: readonly ReceiptLog[];
}

/** What could be learned of a transaction. */
export type Sight =
  | { readonly kind: 'seen'; readonly transaction: SeenTransaction }
  /** @see isProven - the block that should hold it was read, and does not. */
  | { readonly kind: 'absent'; readonly isProven: boolean }
  | { readonly kind: 'unread' };

/** An account at the end of one block. */
export interface LaneState {
  /** Account nonces below this are used. */
  readonly nonce: number;
  readonly balanceWei: bigint;
}
