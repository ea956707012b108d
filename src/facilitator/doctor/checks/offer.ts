import type { Address } from 'viem';
import type { TransferMethod } from '../../../protocol/evm/transfer-method.js';
import type { JsonObject } from '../../../protocol/payment/wire-values.js';

/** One way to pay that a seller offers, as far as it could be read. */
export interface Offer {
  /** The place of its fields, such as `terms.accepts[0]`. */
  readonly path: string;
  readonly version: 1 | 2;
  /** The seller's own object, which buyers send back. */
  readonly sent: JsonObject;
  readonly amountField: 'amount' | 'maxAmountRequired';
  readonly scheme: string;
  readonly method: TransferMethod;
  readonly chainId: number;
  readonly asset: Address;
  readonly payTo: Address;
  /** Atomic units. */
  readonly amount: bigint;
  readonly maxTimeoutSeconds: number;
  readonly extra: JsonObject;
}
