import type { JsonObject } from '../../protocol/payment/wire-values.js';
import type { StoredObject } from '../storage/storage-provider.js';
import type { PresentedPayment, SettleReply } from './payment-gateway.js';

/** One payment and what it is for. Written before the payment is settled, so that no crash loses it. */
export interface Sale extends PresentedPayment {
  /** Names the authorization, which the chain executes at most once. */
  readonly authorizationId: string;
  /** Of everything that was signed, and the signature. */
  readonly signedTag: string;
  /** Lower case. */
  readonly payer: string;
  /** The bytes that are sold, whatever becomes of their name. */
  readonly object: StoredObject;
  readonly accessSeconds: number;
  /** Unix seconds; the chain takes the payment until then. */
  readonly deadline: number;
  /** The network the buyer asked from: from the first broadcast on, anybody can copy its payment. */
  readonly address: string;
  /** Absent while it is not known to be paid. */
  readonly paid?: PaidSale;
}

export interface PaidSale {
  /** Unix seconds; access ends then. */
  readonly until: number;
  /** As the facilitator answered. */
  readonly reply: SettleReply & JsonObject;
}

/** Keeps sales. One payer has at most one sale of a file at a time. */
export interface SaleStore {
  /**
   * @returns the sale that there is: this one where it is new, else the one of the same payment, else the
   *   one that its payer has of the file.
   */
  begin(sale: Sale): Promise<Sale>;
  find(authorizationId: string): Promise<Sale | undefined>;
  /** The sale that a payer has of a file. */
  current(payer: string, fileTag: string): Promise<Sale | undefined>;
  /** @returns what is kept from now on: the first to say that it is paid has said until when. */
  complete(sale: Sale, paid: PaidSale): Promise<Sale>;
  /** Takes away what was not paid. */
  drop(sale: Sale): Promise<void>;
}
