import type { Address, Hex } from 'viem';
import type { AcceptedPayment } from '../../protocol/payment/accepted-payment.js';
import type { PaymentIdentity } from '../../protocol/payment/identity.js';
import type { Reason } from '../../protocol/reasons.js';
import type { Finality, SettlementView } from '../model/settlement.js';
import type { Binding, BoundPayment } from './binding.js';
import type { Requester } from './requester.js';

/** A claim on the ledger of a chain. */
export interface ClaimRef {
  readonly chainId: number;
  readonly id: string;
}

/** The amounts of one payer in flight in one token, counted at one moment. */
export interface InFlight {
  /** Atomic units that will leave the payer's balance. */
  readonly balanceNeeded: bigint;
  /** Atomic units that will be taken from the allowance of the payer. */
  readonly allowanceNeeded: bigint;
  readonly hasSponsoredPermit: boolean;
  /** Number of claims of a receiver of channels. */
  readonly claims: number;
}

export const NOTHING_IN_FLIGHT: InFlight = {
  balanceNeeded: 0n,
  allowanceNeeded: 0n,
  hasSponsoredPermit: false,
  claims: 0,
};

/** Facts of the ledger about a payer that its verification needs. */
export interface PayerRecord {
  /** Without the amount that this payment itself has in flight. */
  readonly inFlight: InFlight;
  /** Recent settlements of this payer that reverted after a successful simulation. */
  readonly recentReverts: number;
}

/** Facts of the ledger that the verification of a payment needs. */
export interface Look extends PayerRecord {
  /** The claim that counts for the authorization: the sold one, otherwise the live one, otherwise the last one. */
  readonly known: SettlementView | undefined;
  /** Whether a living requester waits for that claim. */
  readonly isWaitedFor: boolean;
  /**
   * Key tag of the requester that was answered for a claim that the ledger lost; empty without a key, absent without
   * such a claim.
   */
  readonly acknowledgedKeyTag?: string | undefined;
  /** Whether the ledger ever went back, so that claims of before may be missing. */
  readonly hasGoneBack: boolean;
}

/** The record of a payer that is new, or while the ledger does not answer. */
export const BLANK_RECORD: PayerRecord = { inFlight: NOTHING_IN_FLIGHT, recentReverts: 0 };

/** The funds of the payer in atomic units, as far as the verification read them. */
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

/** The part of a payment that identifies its claims. */
export type ClaimedPayment = Pick<AcceptedPayment, 'chainId' | 'authorization'>;

export type ClaimResult =
  | { readonly kind: 'claimed'; readonly id: string; readonly queued: number }
  /**
   * - `known`: the authorization has a live claim, or one that was sold or paid.
   * - `acknowledged_to_another`: another requester was answered for a claim that the ledger lost, so the claim
   *   belongs to that requester. Or it was claimed before, and sold to another requester since.
   * - `had_its_place`: preparations of the payer were awaited before, in vain; see `PLACE_MS`.
   * - `not_yet`: the ledger went back a moment ago, and other processes may still replay their sales. Only for a 202.
   */
  | {
      readonly kind:
        | 'known'
        | 'acknowledged_to_another'
        | 'in_flight_changed'
        | 'permit_in_flight'
        | 'had_its_place'
        | 'not_yet';
    }
  | { readonly kind: 'queue_full'; readonly queued: number };

export type JoinResult =
  /**
   * - `owner`: sold to this requester, or to its key.
   * - `non_owner`: sold to another requester.
   */
  | {
      readonly kind: 'waiting' | 'owner' | 'non_owner' | 'too_many';
      readonly view: SettlementView;
    }
  | { readonly kind: 'gone' };

export type RedeemResult =
  | {
      /**
       * - `sold`: to this requester, which may be answered now.
       * - `lost`: sold to another requester, or reserved for another key, and the grace is over.
       * - `unpaid`: not paid at the requested finality.
       * - `not_eligible`: this requester may not have it yet.
       * - `not_yet`: the ledger went back a moment ago, and other processes may still replay their sales.
       * - `over`: ended without a payment, so a 202 has nothing to sell.
       */
      readonly kind: 'sold' | 'lost' | 'unpaid' | 'not_eligible' | 'not_yet' | 'over';
      readonly view: SettlementView;
    }
  | { readonly kind: 'gone' };

export type LeaveResult =
  /** - `unsure`: the ledger went back, so it is unknown whether anything was signed. */
  | { readonly kind: 'withdrawn' | 'left' | 'unsure'; readonly view: SettlementView }
  | { readonly kind: 'gone' };

export type BindResult =
  | { readonly kind: 'bound' }
  /** @property ageMs - milliseconds since the binding. */
  | { readonly kind: 'other'; readonly binding: Binding; readonly ageMs: number };

/** A sale of this process that it may have to replay; see {@link SettlementStore.replaySale}. */
export interface AcknowledgedSale {
  readonly ref: ClaimRef;
  readonly authorizationId: string;
  readonly requester: Requester;
  readonly isAccepted: boolean;
}

export type AdoptResult =
  | { readonly kind: 'sold'; readonly view: SettlementView }
  /**
   * - `known`: the ledger has another claim of this authorization, or another requester received success.
   * - `not_yet`: the ledger went back a moment ago, and other processes may still replay their sales.
   */
  | { readonly kind: 'known' | 'not_yet' };

/** The withdrawal of a claim that was acknowledged to a requester; see {@link SettlementStore.replayWithdrawal}. */
export interface AcknowledgedWithdrawal {
  readonly ref: ClaimRef;
  readonly reason: Reason;
}

/** A payment that a signer of this service made, and that the ledger no longer knows. */
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
 * The ledger as requesters use it. Every method is one atomic step, and the same requester may repeat it: after a
 * lost reply the step gives the same answer again.
 *
 * @throws RedisUnavailableError from every method, if Redis does not answer: the step may have been taken.
 */
export interface SettlementStore {
  /** All facts for the verification of a payment, in one round trip. */
  look(identity: PaymentIdentity, payer: PayerRef): Promise<Look>;

  /** The claim that this requester makes, or has made, of a payment. */
  refOf(
    payment: ClaimedPayment,
    identity: Pick<PaymentIdentity, 'authorizationId' | 'termsTag'>,
    requester: Pick<Requester, 'id'>,
  ): ClaimRef;

  /** The binding of an idempotency key. */
  bindingOf(keyTag: string): Promise<Binding | undefined>;

  /**
   * Binds an idempotency key to a payment. A binding of the same payment is renewed, and is this requester's from then
   * on.
   */
  bind(requester: Requester, payment: BoundPayment): Promise<BindResult>;

  /** @returns whether the key had the expected binding, and now belongs to the requester. */
  takeOver(requester: Requester, payment: BoundPayment, from: Binding): Promise<boolean>;

  /** Removes a binding that this requester made, and no later one has renewed. */
  unbind(requester: Requester, payment: BoundPayment): Promise<void>;

  /** Whether the ledger holds any claim of an authorization. */
  hasClaim(chainId: number, authorizationId: string): Promise<boolean>;

  /** Creates the record of a verified payment. From now on the requester waits for it. */
  claim(requester: Requester, claim: Claim): Promise<ClaimResult>;

  /** Adds a requester to a claim, or renews its heartbeat. */
  join(ref: ClaimRef, requester: Requester): Promise<JoinResult>;

  /**
   * Sells to the requester, before any answer with success or 202. After a request for a 202, a repeatable action is
   * not withdrawn any more, whatever the result.
   *
   * @param at - the finality of the answer; `async` for a 202, which needs no payment yet.
   */
  redeem(ref: ClaimRef, requester: Requester, at: Finality | 'async'): Promise<RedeemResult>;

  /**
   * Rolls a sale back whose response could not be completed. Only a sale to this requester is rolled back, and never
   * one that a second requester of its key received. If the ledger lost the claim, the stored owner is deleted too.
   */
  rollBack(ref: ClaimRef, authorizationId: string, requester: Requester): Promise<boolean>;

  /**
   * The requester leaves: its time is over, or its client closed the connection. If nothing was signed and no 202 was
   * answered, the claim is withdrawn for all at the end of the time, or when the last requester leaves.
   *
   * @param knownHash - a transaction that this process knows; then nothing is withdrawn.
   */
  leave(
    ref: ClaimRef,
    requester: Requester,
    cause: 'timeout' | 'closed',
    knownHash: Hex | undefined,
  ): Promise<LeaveResult>;

  /**
   * Replays a sale after the ledger went back. If the ledger lost the claim, the owner is stored, so that no other
   * requester adopts, claims or buys it. Neither of two requesters of one key can roll the sale back.
   *
   * @returns whether nothing is left to replay: the sale is stored, or was a 202 whose claim has ended unpaid.
   */
  replaySale(sale: AcknowledgedSale): Promise<boolean>;

  /**
   * Replays an acknowledged withdrawal after the ledger went back. Nothing was signed before the withdrawal, so only
   * a later signature can be in flight.
   *
   * @returns whether nothing of it is sent.
   */
  replayWithdrawal(withdrawal: AcknowledgedWithdrawal): Promise<boolean>;

  /**
   * Reports that a process lives which answers requesters. After a ledger went back, nothing is sold, and lanes take
   * no older claims, until every earlier process has replayed its answers or the wait is over.
   *
   * @param hasReplayed - whether this process has replayed everything; called after the state of the ledger is known.
   * @throws LedgerEpochChangedError if the ledger went back meanwhile.
   */
  heartbeat(chainId: number, processId: string, hasReplayed: () => boolean): Promise<void>;

  /**
   * Reports that a process ends and has written everything, so that a ledger that goes back does not wait for it. Its
   * last step.
   *
   * @param hasReplayed - as in {@link heartbeat}. If it returns `false`, nothing is reported.
   * @throws LedgerEpochChangedError if the ledger went back meanwhile: then the ledger waits for this process.
   */
  depart(chainId: number, processId: string, hasReplayed: () => boolean): Promise<void>;

  /** Creates a record for a payment whose claim the ledger lost, sold to this requester. */
  adopt(requester: Requester, adoption: Adoption): Promise<AdoptResult>;

  /**
   * Registers a callback for a ledger that went back.
   *
   * @returns a function that removes the callback.
   */
  onEpochChange(listener: (chainId: number) => void): () => void;
}

export interface PayerRef {
  readonly chainId: number;
  readonly asset: Address;
  readonly payer: Address;
  /** The names that its failures count against; see `ClaimRules.blamedFor`. */
  readonly blamed: readonly string[];
}

/** How long finished settlements are stored: details and tombstone. */
export interface LedgerLifetimes {
  readonly retentionSeconds: number;
  readonly tombstoneSeconds: number;
}

/** Lifetimes in the form of script arguments. */
export function lifeOf(
  lifetimes: LedgerLifetimes,
): readonly [tombstone: number, retention: number] {
  return [lifetimes.tombstoneSeconds, lifetimes.retentionSeconds];
}

/** Limits and lifetimes of a ledger. */
export interface LedgerLimits extends LedgerLifetimes {
  readonly queueMax: number;
  /** Milliseconds after an inclusion after which every requester may have the sale. */
  readonly saleGraceMs: number;
}

/** A claim with this many requesters answers further ones at once. */
export const WAITING_MAX = 64;
/** A requester without a heartbeat for this long does not count any more. */
export const WAITER_LIVES_MS = 5000;
/**
 * A claim from before a ledger went back, or from within this time after it, is not withdrawn: signed bytes that the
 * ledger lost may have been sent.
 */
export const UNSURE_MS = 10_000;
/**
 * After a ledger went back, nothing is sold for at least this long, because the ledger may not know every process
 * that lived.
 */
export const RESTATE_MS = 3000;
/** After this time, a binding without any claim may be taken over. */
export const BINDING_ABANDONED_MS = 150_000;
