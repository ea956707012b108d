import type { Address, Hex } from 'viem';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Finality, SettlementView } from '../model/settlement.js';
import type { Binding, BoundPayment } from './binding.js';
import { type InFlight, NOTHING_IN_FLIGHT } from './queries/in-flight.js';
import type { Requester } from './requester.js';

/** Which claim, and on which chain's ledger. */
export interface ClaimRef {
  readonly chainId: number;
  readonly id: string;
}

/** The facts about a payer in the ledger that matter for verifying its payments. */
export interface PayerRecord {
  /** Without what this payment itself may have in flight. */
  readonly inFlight: InFlight;
  /** Settlements of this payer that reverted lately although their simulation was clean. */
  readonly recentReverts: number;
}

/** The facts in the ledger that matter for verifying one payment. */
export interface Look extends PayerRecord {
  /** The claim that counts for its authorization: the one it was sold by, else the live, else the last. */
  readonly known: SettlementView | undefined;
  /** Whether a requester that shows itself waits for that claim. */
  readonly isWaitedFor: boolean;
  /**
   * Key tag of the requester that has an answer for a claim that the ledger lost; empty where it came without a key,
   * absent where there is no such claim.
   */
  readonly toldKeyTag?: string | undefined;
}

/** Of a payer the ledger knows nothing of, or cannot be asked about. */
export const BLANK_RECORD: PayerRecord = { inFlight: NOTHING_IN_FLIGHT, recentReverts: 0 };

/** The funds of the payer, atomic units, as far as the verification had to read them. */
export interface PayerMeans {
  readonly balance: bigint | undefined;
  readonly allowance: bigint | undefined;
}

export interface Claim {
  readonly identity: PaymentIdentity;
  readonly payment: AcceptedPayment;
  readonly means: PayerMeans;
  /** The answer is a 202, which sells at once. */
  readonly isAccepted: boolean;
}

/** The part of a payment that leads to its claims. */
export type ClaimedPayment = Pick<AcceptedPayment, 'chainId' | 'authorization'>;

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly id: string; readonly queued: number }
  /**
   * - `known`: the authorization has a live claim, or one that was sold or paid.
   * - `told_to_another`: the ledger lost a claim of it, for which another requester had an answer. It is claimed for that requester now.
   *   Or it was claimed before, and has been sold to another since.
   * - `had_its_place`: own transactions of the payer were waited for before, and did not come: see `PLACE_MS`.
   * - `not_yet`: the ledger went back a moment ago, and other processes may still replay their sales. Only where a 202 is asked for.
   */
  | {
      readonly kind:
        | 'known'
        | 'told_to_another'
        | 'in_flight_changed'
        | 'permit_in_flight'
        | 'had_its_place'
        | 'not_yet';
    }
  | { readonly kind: 'queue_full'; readonly queued: number };

export type JoinResult =
  /** - `owner`: it was sold to this requester, or to its key. `non_owner`: to another. */
  | {
      readonly kind: 'waiting' | 'owner' | 'non_owner' | 'too_many';
      readonly view: SettlementView;
    }
  | { readonly kind: 'gone' };

export type RedeemResult =
  | {
      /**
       * - `sold`: to this requester; it may be answered now. `lost`: to another, or for the key of
       *   another, and the grace is over.
       * - `unpaid`: not paid at the finality asked for. `not_eligible`: not for this requester, so far.
       * - `not_yet`: the ledger went back a moment ago, and other processes may still replay their sales.
       * - `over`: it has ended without being paid, and there is nothing to hand out by a 202.
       */
      readonly kind: 'sold' | 'lost' | 'unpaid' | 'not_eligible' | 'not_yet' | 'over';
      readonly view: SettlementView;
    }
  | { readonly kind: 'gone' };

export type LeaveResult =
  /** - `unsure`: the ledger went back; whether anything was signed is not known. */
  | { readonly kind: 'withdrawn' | 'left' | 'unsure'; readonly view: SettlementView }
  | { readonly kind: 'gone' };

export type BindResult =
  /** @property ageMs - since when it is bound. */
  | { readonly kind: 'bound'; readonly ageMs: number }
  | { readonly kind: 'other'; readonly binding: Binding; readonly ageMs: number };

/** A sale that this process has made and may have to say again; see {@link SettlementStore.replaySale}. */
export interface AcknowledgedSale {
  readonly ref: ClaimRef;
  readonly authorizationId: string;
  readonly requester: Requester;
  readonly isAccepted: boolean;
}

export type AdoptResult =
  | { readonly kind: 'sold'; readonly view: SettlementView }
  /**
   * - `known`: the ledger has another claim of this authorization, or another requester got success.
   * - `not_yet`: the ledger went back a moment ago, and other processes may still replay their sales.
   */
  | { readonly kind: 'known' | 'not_yet' };

/** The withdrawal of a claim that was acknowledged to a requester; see {@link SettlementStore.replayWithdrawal}. */
export interface AcknowledgedWithdrawal {
  readonly ref: ClaimRef;
  readonly reason: Reason;
}

/** A payment that one of our own signers made, of which the ledger knows nothing any more. */
export interface Adoption extends ClaimRef {
  readonly identity: PaymentIdentity;
  readonly transaction: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly logIndex: number | undefined;
  /** See `SettlementView`. */
  readonly settledAmount?: bigint | undefined;
}

/**
 * The ledger as requesters use it. Every method is one atomic step, and each may be repeated by the same
 * requester: a step that was taken and whose answer was lost has the same answer again.
 *
 * @throws RedisUnavailableError from every method when Redis does not answer: the step may have
 *   been taken.
 */
export interface SettlementStore {
  /** Everything that bears on judging a payment, in one round trip. */
  look(identity: PaymentIdentity, payer: PayerRef): Promise<Look>;

  /** The name of the claim that this requester would make, or has made, of a payment. */
  refOf(
    payment: ClaimedPayment,
    identity: Pick<PaymentIdentity, 'authorizationId' | 'termsTag'>,
    requester: Pick<Requester, 'id'>,
  ): ClaimRef;

  /** The binding of an idempotency key. */
  bindingOf(keyTag: string): Promise<Binding | undefined>;

  /**
   * Binds an idempotency key to a payment. A binding of the same payment that is older than
   * {@link BINDING_RENEWED_MS} is renewed.
   */
  bind(requester: Requester, payment: BoundPayment): Promise<BindResult>;

  /** @returns whether the key was still bound as said, and is the requester's now. */
  takeOver(requester: Requester, payment: BoundPayment, from: Binding): Promise<boolean>;

  /** Gives up what this requester itself has bound, if it has. */
  unbind(requester: Requester, payment: BoundPayment): Promise<void>;

  /** Whether the ledger holds any claim of an authorization. */
  hasClaim(chainId: number, authorizationId: string): Promise<boolean>;

  /** Makes the record of a payment that was judged good. The requester waits for it from here on. */
  claim(requester: Requester, claim: Claim): Promise<ClaimResult>;

  /** Joins the requesters of a claim, or shows that this one still waits. */
  join(ref: ClaimRef, requester: Requester): Promise<JoinResult>;

  /**
   * Sells: before any answer of success, or of 202.
   *
   * @param at - the finality the answer speaks of; `async` for a 202, which needs no payment yet.
   */
  redeem(ref: ClaimRef, requester: Requester, at: Finality | 'async'): Promise<RedeemResult>;

  /**
   * The response that sold did not finish. Only a sale to this requester is rolled back, and never one that a second
   * requester of its key got. Where the ledger lost the claim, it also forgets that this requester had the sale.
   */
  rollBack(ref: ClaimRef, authorizationId: string, requester: Requester): Promise<boolean>;

  /**
   * The requester is gone: its time is up, or its client closed the connection. Where nothing was ever signed and no
   * 202 was answered, the end of its time withdraws the claim for all, and so does the leaving of the last one.
   *
   * @param knownHash - a transaction of it that this process knows of: then nothing is withdrawn.
   */
  leave(
    ref: ClaimRef,
    requester: Requester,
    cause: 'timeout' | 'closed',
    knownHash: Hex | undefined,
  ): Promise<LeaveResult>;

  /**
   * After a ledger went back: replays a sale. Where the ledger lost the claim it stores the requester, so that no other
   * one adopts, claims or buys it. A sale to two requesters of one key can be rolled back by neither.
   *
   * @returns whether the sale is stored, or was a 202 whose claim has ended unpaid: nothing is left to replay.
   */
  replaySale(sale: AcknowledgedSale): Promise<boolean>;

  /**
   * After a ledger went back: replays a withdrawal that was acknowledged. Nothing was signed for it then, so only a
   * signature made since can be under way.
   *
   * @returns whether nothing of it is sent.
   */
  replayWithdrawal(withdrawal: AcknowledgedWithdrawal): Promise<boolean>;

  /**
   * Shows that a process lives which answers requesters. After a ledger went back, nothing is sold and no older claim is
   * taken by a lane before every process that lived has replayed its answers, or has been awaited for long enough.
   *
   * @param hasReplayed - whether it has replayed everything. Asked once it is known which state of the ledger this is.
   * @throws LedgerEpochChangedError when the ledger went back meanwhile.
   */
  heartbeat(chainId: number, processId: string, hasReplayed: () => boolean): Promise<void>;

  /** Makes a record of a payment whose claim the ledger lost, sold to this requester. */
  adopt(requester: Requester, adoption: Adoption): Promise<AdoptResult>;

  /** Told when the ledger of a chain went back. @returns how to stop listening. */
  onEpochChange(listener: (chainId: number) => void): () => void;
}

export interface PayerRef {
  readonly chainId: number;
  readonly asset: Address;
  readonly payer: Address;
  /** What its failures are held against; see `Judge.blamedFor`. */
  readonly blamed: string;
}

/** How long what has finished is kept: the details of a record, and its tombstone. */
export interface LedgerLifetimes {
  readonly retentionSeconds: number;
  readonly tombstoneSeconds: number;
}

/** As scripts take it. */
export function lifeOf(
  lifetimes: LedgerLifetimes,
): readonly [tombstone: number, retention: number] {
  return [lifetimes.tombstoneSeconds, lifetimes.retentionSeconds];
}

/** Settings and lifetimes of a ledger. */
export interface LedgerLimits extends LedgerLifetimes {
  readonly queueMax: number;
  /** Milliseconds after an inclusion from which on everybody may have the sale. */
  readonly saleGraceMs: number;
}

/** Beyond this many requesters of one claim the next is answered at once. */
export const WAITING_MAX = 64;
/** A waiter that has not shown itself for this long is gone. */
export const WAITER_LIVES_MS = 5000;
/**
 * What was claimed before a ledger went back, or this soon after, is not withdrawn: bytes that the ledger
 * lost may have been sent for its authorization.
 */
export const UNSURE_MS = 10_000;
/** After a ledger went back nothing is sold for this long in any case: it may not know of every process that lived. */
export const RESTATE_MS = 3000;
/** A claim is made within this time of the binding of its idempotency key. */
export const BINDING_RENEWED_MS = 100_000;
/** From then on the binding of a payment of which nothing is left may be taken over. */
export const BINDING_ABANDONED_MS = 150_000;
