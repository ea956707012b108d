import type { Hex } from 'viem';
import { type AcceptedPayment, assetNameOf } from '../../../protocol/payment/accepted-payment.js';
import { channelsRaisedBy } from '../../../protocol/payment/payment-facts.js';
import type { PaidItem, StoredInclusion } from '../../ledger/lane-store.js';
import type { Attempt } from '../../model/attempt.js';

/** Where an attempt was mined, as the newest look at it says. */
export interface Inclusion {
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly isSuccess: boolean;
  readonly gasUsed: bigint;
  /** Wei. */
  readonly effectiveGasPrice: bigint;
  /**
   * Paid settlements by id: index of the log that shows the payment, or `undefined` where the state of the
   * chain does.
   */
  readonly credited: ReadonlyMap<string, number | undefined>;
}

/**
 * Why no node has the newest bytes of an attempt in its pool: `price`, all say that the fee is too low; `bytes`, all
 * refuse the transaction itself.
 */
export type PoolRefusal = 'price' | 'bytes';

interface TrackedAttemptOptions {
  readonly attempt: Attempt;
  /** Settlements that are still live, by id. */
  readonly payments: Map<string, AcceptedPayment>;
  /** The inclusions that the ledger holds. */
  readonly stored?: ReadonlyMap<string, StoredInclusion>;
  /** Number of the newest block now. */
  readonly atBlock: bigint;
  /** Milliseconds since the epoch, now. */
  readonly nowMs: number;
}

/** An attempt in flight with its lane's state, all of which can be read again. */
export class TrackedAttempt {
  attempt: Attempt;
  readonly payments: Map<string, AcceptedPayment>;
  /** Assets that its settlements move, as they are named in settings. */
  readonly assets: ReadonlySet<string>;
  /** Channels whose claimed total it raises. */
  readonly channels: ReadonlySet<Hex>;
  /** Its block; confirmed, and written to the ledger. */
  inclusion: Inclusion | undefined;
  /** The inclusions that the ledger holds, by settlement. The chain may show others. */
  readonly stored: Map<string, StoredInclusion>;
  /** Block number at which it was last sent, and at which it last got its price. */
  sentAtBlock: bigint;
  pricedAtBlock: bigint;
  /** Milliseconds since the epoch of the first send by this process. */
  readonly sentAt: number;
  /** Hash of the block of its inclusion, once two endpoints have shown that it is part of the final chain. */
  finalBlock: Hex | undefined;
  /** Number of the newest block when one endpoint first showed it mined, while that is unconfirmed. */
  seenAtBlock: bigint | undefined;
  /** {@link sentSince}, once the final chain has shown it. */
  provenSince: bigint | undefined;
  refusal: PoolRefusal | undefined;
  /** Whether a node has accepted one of its transactions. */
  isTaken = false;
  /** Whether a node reported its nonce as used, so that the newest block has to be looked at again. */
  isNonceReportedUsed = false;
  /** The time since which its nonce is used in a final block while none of its transactions is found; steady clock. */
  missingSince: number | undefined;

  constructor({ attempt, payments, stored, atBlock, nowMs }: TrackedAttemptOptions) {
    this.attempt = attempt;
    this.payments = payments;
    this.assets = new Set([...payments.values()].map(assetNameOf));
    this.channels = new Set([...payments.values()].flatMap(channelsRaisedBy));
    this.stored = new Map(stored);
    this.sentAtBlock = atBlock;
    this.pricedAtBlock = atBlock;
    this.sentAt = nowMs;
  }

  get accountNonce(): number {
    return this.attempt.accountNonce;
  }

  get items(): { readonly id: string; readonly payment: AcceptedPayment }[] {
    return [...this.payments].map(([id, payment]) => ({ id, payment }));
  }

  /** Milliseconds since the epoch at which its nonce was allocated. */
  get allocatedAt(): number {
    return this.attempt.transactions[0]?.signedAt ?? this.sentAt;
  }

  /**
   * The newest block that was known when it was about to be sent. A use up to it is no copy of the attempt. Until the
   * chain has shown what is true, the highest claim counts: an older block would let a use elsewhere pass for a copy.
   */
  get sentSince(): bigint {
    const { newestBlock, allocatedAtBlock } = this.attempt;
    return this.provenSince ?? newestBlock?.number ?? allocatedAtBlock;
  }

  /** Whether the transaction of this hash belongs to the attempt and settles something. */
  isSettledBy(hash: Hex): boolean {
    return this.attempt.transactions.some((one) => one.hash === hash && !one.isNoop);
  }
}

export interface InclusionChanges {
  /** The block does not pay them, or is not part of the chain any more. */
  readonly uninclude: readonly string[];
  readonly include: readonly PaidItem[];
}

/**
 * The writes that bring the ledger's settlements of an attempt to the state of the chain. They depend only on these two
 * states, so that the result after a takeover or a replaced block is the same.
 *
 * @param inclusion - where the attempt is mined now; `undefined` when no block has it.
 */
export function inclusionChanges(
  { payments, stored }: Pick<TrackedAttempt, 'payments' | 'stored'>,
  inclusion: Inclusion | undefined,
): InclusionChanges {
  const uninclude: string[] = [];
  const include: PaidItem[] = [];
  for (const id of payments.keys()) {
    const known = stored.get(id);
    if (inclusion?.credited.has(id) !== true) {
      if (known !== undefined) uninclude.push(id);
      continue;
    }
    const logIndex = inclusion.credited.get(id);
    const isKnown =
      known?.transaction === inclusion.transaction &&
      known.blockHash === inclusion.blockHash &&
      known.logIndex === logIndex;
    if (!isKnown) include.push({ id, logIndex });
  }
  return { uninclude, include };
}
