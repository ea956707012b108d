import type { Hex } from 'viem';
import { type AcceptedPayment, assetNameOf } from '../../../protocol/payment/accepted-payment.js';
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
   * Those it paid, by settlement id: index of the log that shows it, or `undefined` where the state of the
   * chain does.
   */
  readonly credited: ReadonlyMap<string, number | undefined>;
}

/**
 * Why no node has the newest bytes of an attempt in its pool: `price`, all say that the fee is too low;
 * `bytes`, all say that the transaction itself is not to be had.
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

/** An attempt in flight with the state its lane keeps of it. All of this can be read again. */
export class TrackedAttempt {
  attempt: Attempt;
  readonly payments: Map<string, AcceptedPayment>;
  /** Assets that its settlements move, as they are named in settings. */
  readonly assets: ReadonlySet<string>;
  /** Where it was mined; confirmed, and written to the ledger. */
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
  /** Number of the newest block when one endpoint began to show it mined, while that is not confirmed. */
  seenAtBlock: bigint | undefined;
  refusal: PoolRefusal | undefined;
  /** A node said that it has one of its transactions. */
  isTaken = false;
  /** A node said that its nonce is used: what the newest block says of it has to be looked at again. */
  isNonceReportedUsed = false;
  /** Since when its nonce is finally used although none of its transactions is found; steady clock. */
  missingSince: number | undefined;

  constructor({ attempt, payments, stored, atBlock, nowMs }: TrackedAttemptOptions) {
    this.attempt = attempt;
    this.payments = payments;
    this.assets = new Set([...payments.values()].map(assetNameOf));
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
 * The writes after which the ledger shows of every settlement of an attempt what the chain shows.
 * They depend on these two states alone: after a takeover, or when a block was replaced by another, the result is the
 * same.
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
