import type { Address, Hex } from 'viem';
import type { WalletAsset } from '../../platform/config/wallet-assets.js';
import { PERMIT2 } from '../../protocol/evm/contracts.js';
import type { TransferMethod } from '../../protocol/evm/transfer-method.js';
import type { Scope } from './policy.js';

/** A transfer that the wallet's signature makes possible, in any signed form. */
export interface Spending {
  /** The authorization id, which a chain executes at most once. */
  readonly id: string;
  readonly chainId: number;
  readonly method: TransferMethod | 'transaction';
  /** Lower case; the zero address is the native coin. */
  readonly asset: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
  /** The nonce of the authorization; 0 for a transaction. */
  readonly nonce: bigint;
  /** Unix seconds after which the chain refuses it. */
  readonly deadline: number;
}

/** The id of a spending by authorization: one for each nonce that a chain executes at most once. */
export function authorizationId({
  chainId,
  method,
  asset,
  nonce,
}: {
  readonly chainId: number;
  readonly method: TransferMethod;
  readonly asset: Address;
  readonly nonce: bigint;
}): string {
  return `${chainId}:${method === 'eip3009' ? asset : PERMIT2}:${nonce.toString(16)}`;
}

/** A decoded request to sign. */
export type Signable =
  | { readonly kind: 'payment'; readonly spending: Spending; readonly token: WalletAsset }
  /** Moves no countable amount, or its effect is unknown; its scope decides. */
  | { readonly kind: 'scoped'; readonly scope: Scope; readonly what: string }
  | {
      readonly kind: 'transfer';
      readonly spending: Spending;
      readonly token: WalletAsset | undefined;
    }
  /** Never signed, whatever the scopes are. */
  | { readonly kind: 'unsignable'; readonly why: string };

/** EIP-712 typed data as received. `primary_type` is read like `primaryType`. */
export interface TypedData {
  readonly domain: Readonly<Record<string, unknown>>;
  readonly types: Readonly<
    Record<string, readonly { readonly name: string; readonly type: string }[]>
  >;
  readonly primaryType: string;
  readonly message: Readonly<Record<string, unknown>>;
}

/** The highest gas limit of a transaction, and of a call. */
export const TRANSACTION_GAS_MAX = 1_000_000n;

/** A transaction requested by an agent. The provider fills in missing fields. */
export interface WantedTransaction {
  readonly chainId: number;
  readonly to: Address;
  /** Wei. */
  readonly value: bigint;
  readonly data: Hex;
  readonly gasLimit: bigint | undefined;
  /** Wei. */
  readonly maxFeePerGas: bigint | undefined;
  /** Wei. */
  readonly maxPriorityFeePerGas: bigint | undefined;
}
