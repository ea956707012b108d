import type { Hex } from 'viem';
import type { AcceptedPayment } from '../core/settlement/accepted-payment.js';
import type { Attempt } from '../core/settlement/attempt.js';

/** Where an attempt was mined, as the newest look at it says. */
export interface Inclusion {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly isSuccess: boolean;
  readonly gasUsed: bigint;
  /** Wei. */
  readonly effectiveGasPrice: bigint;
  /** Log index of the credited transfer by settlement id; those it did not pay are missing. */
  readonly credited: ReadonlyMap<string, number>;
}

/** An attempt in flight with what its lane remembers of it. All of it can be found out anew. */
export class TrackedAttempt {
  inclusion: Inclusion | undefined;
  /** Block number at which it was last sent, and at which it last got its price. */
  sentAtBlock: bigint;
  pricedAtBlock: bigint;
  /** Milliseconds since the epoch of the first send by this process. */
  readonly sentAt = Date.now();
  /** A node said that its fee is too low, or that something about the bytes is wrong. */
  needsNewBytes = false;
  /** A node said that its nonce is used: what the newest block says of it has to be looked at again. */
  isSaidUsed = false;
  /** Its nonce is used on chain although none of its transactions is found there. */
  isMissing = false;

  constructor(
    public attempt: Attempt,
    /** Settlements that are still live, by id. */
    readonly payments: Map<string, AcceptedPayment>,
    atBlock: bigint,
  ) {
    this.sentAtBlock = atBlock;
    this.pricedAtBlock = atBlock;
  }

  get accountNonce(): number {
    return this.attempt.accountNonce;
  }

  get items(): { readonly id: string; readonly payment: AcceptedPayment }[] {
    return [...this.payments].map(([id, payment]) => ({ id, payment }));
  }
}
