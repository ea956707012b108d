import type { Hex } from 'viem';
import { RedisUnavailableError } from '../../../../src/protocol/errors.js';
import { type PaymentIdentity, settlementIdOf } from '../../../../src/protocol/payment/identity.js';
import {
  chargedTo,
  inFlightKindOf,
  needsNoTransaction,
} from '../../../../src/protocol/payment/payment-facts.js';
import type { Reason } from '../../../../src/protocol/reasons.js';
import type { Binding, BoundPayment } from '../../../../src/settlement/ledger/binding.js';
import { AWAITED_MS } from '../../../../src/settlement/ledger/epoch.js';
import type { Requester } from '../../../../src/settlement/ledger/requester.js';
import {
  type AcknowledgedSale,
  type AcknowledgedWithdrawal,
  type Adoption,
  type AdoptResult,
  type BindResult,
  type Claim,
  type ClaimedPayment,
  type ClaimRef,
  type ClaimResult,
  type JoinResult,
  type LeaveResult,
  type Look,
  type PayerRef,
  type RedeemResult,
  RESTATE_MS,
  type SettlementStore,
  WAITING_MAX,
} from '../../../../src/settlement/ledger/settlement-store.js';
import type { Finality } from '../../../../src/settlement/model/settlement.js';
import type { StageEvent } from '../../../../src/settlement/model/settlement-machine.js';
import { sponsoredMost } from '../../../../src/settlement/model/sponsoring-machine.js';
import { isFinishedStage } from '../finished-stage.js';
import { MemoryBindings } from './memory-bindings.js';
import {
  canWithdraw,
  isEarly,
  isOverUnpaid,
  isSold,
  isSoldTo,
  newRecord,
  takesNothing,
  viewOf,
} from './memory-record.js';
import {
  type Index,
  MemorySettlements,
  NOBODY,
  type UpdateListener,
} from './memory-settlements.js';

/**
 * {@link SettlementStore} without Redis, for tests in milliseconds. What lanes do is done to it by
 * {@link MemorySettlementStore.happens}. It keeps no lists and no lifetimes.
 */
export class MemorySettlementStore implements SettlementStore {
  readonly #settlements: MemorySettlements;
  readonly #bindings: MemoryBindings;
  readonly #listeners = new Set<(chainId: number) => void>();
  /** Every chain that anything was claimed on. */
  readonly #chainIds = new Set<number>();
  readonly #speakers = new Map<string, number>();
  #awaited = new Set<string>();
  /** While it is away every step fails; `lost` steps are taken all the same. */
  outage: 'none' | 'away' | 'replies_lost' = 'none';
  queueMax = 1000;
  onUpdate: UpdateListener = () => undefined;

  constructor(
    private readonly now: () => number,
    saleGraceMs: number,
  ) {
    this.#settlements = new MemorySettlements(now, saleGraceMs, (id, kind, transaction) => {
      this.onUpdate(id, kind, transaction);
    });
    this.#bindings = new MemoryBindings(now);
  }

  // ---------------------------------------------------------------- what lanes do

  /** @param transaction - of an `allocated` or an inclusion. */
  happens(id: string, event: StageEvent, transaction?: Hex, reason?: Reason): void {
    this.#settlements.happens(id, event, transaction, reason);
  }

  /** The ledger went back, so many milliseconds ago: this process and the others get the event. */
  goBack(agoMs = 0): void {
    this.#settlements.epochAt = this.now() - agoMs;
    this.#awaited = new Set(this.#speakers.keys());
    for (const chainId of this.#chainIds) {
      for (const listener of [...this.#listeners]) listener(chainId);
    }
  }

  /** As a flush does. */
  forgetAll(): void {
    this.#settlements.clear();
    this.goBack();
  }

  /** Restores an older snapshot of a sale: it is open, or the claim is still queued. */
  forgetSale(id: string): void {
    const record = this.#settlements.record(id);
    if (record !== undefined) this.#settlements.open(record);
  }

  forgetWithdrawal(id: string): void {
    this.#settlements.queueAgain(id);
  }

  unclaimed(afterMs: number): readonly string[] {
    return this.#isAwaiting ? [] : this.#settlements.unclaimed(afterMs);
  }

  idsOf(identity: PaymentIdentity): Index {
    return this.#settlements.idsOf(identity.authorizationId);
  }

  // ---------------------------------------------------------------- the port

  look(identity: PaymentIdentity, payer: PayerRef): Promise<Look> {
    return this.#step(() => {
      const index = this.#settlements.idsOf(identity.authorizationId);
      const record = [index.sold, index.live, index.last]
        .map((id) => this.#settlements.record(id))
        .find((one) => one !== undefined);
      return {
        known: record && viewOf(record),
        isWaitedFor: record !== undefined && this.#settlements.living(record) > 0,
        inFlight: this.#settlements.inFlight(identity, payer),
        recentReverts: 0,
        acknowledgedKeyTag: this.#settlements.lostTo(identity, NOBODY)?.soldKey,
        hasGoneBack: this.#settlements.epochAt > 0,
      };
    });
  }

  bindingOf(keyTag: string): Promise<Binding | undefined> {
    return this.#step(() => this.#bindings.of(keyTag));
  }

  bind(requester: Requester, payment: BoundPayment): Promise<BindResult> {
    return this.#step(() => this.#bindings.bind(requester, payment));
  }

  takeOver(requester: Requester, payment: BoundPayment, from: Binding): Promise<boolean> {
    return this.#step(() => this.#bindings.takeOver(requester, payment, from));
  }

  unbind(requester: Requester, payment: BoundPayment): Promise<void> {
    return this.#step(() => {
      this.#bindings.unbind(requester, payment);
    });
  }

  hasClaim(_chainId: number, authorizationId: string): Promise<boolean> {
    return this.#step(() => Object.keys(this.#settlements.idsOf(authorizationId)).length > 0);
  }

  refOf(
    { chainId }: ClaimedPayment,
    identity: Pick<PaymentIdentity, 'authorizationId' | 'termsTag'>,
    requester: Pick<Requester, 'id'>,
  ): ClaimRef {
    return { chainId, id: settlementIdOf(identity, requester.id) };
  }

  claim(requester: Requester, claim: Claim): Promise<ClaimResult> {
    return this.#step((): ClaimResult => {
      const { identity, isAccepted } = claim;
      const { id } = this.refOf(claim.payment, identity, requester);
      const { queued } = this.#settlements;
      const earlier = this.#settlements.record(id);
      if (earlier !== undefined) {
        const isOpen = !isSold(earlier);
        if (!isOpen && !isSoldTo(earlier, requester)) return { kind: 'acknowledged_to_another' };
        if (isOpen && isAccepted && !isOverUnpaid(earlier)) return { kind: 'known' };
        return { kind: 'claimed', id, queued };
      }
      const index = this.#settlements.idsOf(identity.authorizationId);
      if (this.#settlements.record(index.live) ?? this.#settlements.record(index.sold))
        return { kind: 'known' };
      const last = this.#settlements.record(index.last);
      if (last?.stage === 'foreign' || last?.isPaid) return { kind: 'known' };
      const lost = this.#settlements.lostTo(identity, requester);
      if (isAccepted && lost === undefined && this.#isAwaiting) return { kind: 'not_yet' };
      const needsNothing = needsNoTransaction(claim.payment);
      const isSponsored = inFlightKindOf(claim.payment) === 'a';
      if (isSponsored && this.#settlements.hasOwnTransaction(claim)) {
        return { kind: 'permit_in_flight' };
      }
      if (isSponsored && this.#settlements.hadItsPlace(claim)) return { kind: 'had_its_place' };
      const most = isSponsored ? sponsoredMost(this.queueMax) : this.queueMax;
      const line = isSponsored ? this.#settlements.sponsored() : queued;
      if (line >= most && !needsNothing) return { kind: 'queue_full', queued: line };
      const own = isSponsored
        ? this.#settlements.sponsored(claim.payment.asset)
        : this.#settlements.queuedFor(chargedTo(claim.payment));
      if (own >= most / 4 && line > own && !needsNothing)
        return { kind: 'queue_full', queued: line };
      const isSoldNow = isAccepted || lost !== undefined;
      const owner = lost
        ? { ...requester, id: lost.soldTo, keyTag: lost.soldKey, credentials: [] }
        : requester;
      const record = newRecord(id, { ...claim, isAccepted: isSoldNow }, owner, this.now());
      record.isKept = lost?.isKept === true;
      this.#chainIds.add(claim.payment.chainId);
      this.#settlements.add(record, { ...index, live: id, ...(isSoldNow && { sold: id }) });
      record.waiters.set(owner.id, this.now());
      if (needsNothing) this.#settlements.happens(id, 'nothing_due');
      return lost === undefined
        ? { kind: 'claimed', id, queued }
        : { kind: 'acknowledged_to_another' };
    });
  }

  join({ id }: ClaimRef, requester: Requester): Promise<JoinResult> {
    return this.#step((): JoinResult => {
      const record = this.#settlements.record(id);
      if (record === undefined) return { kind: 'gone' };
      const isOfAnother = isSold(record) && !isSoldTo(record, requester);
      if (isOfAnother && (record.isPaid || !takesNothing(record))) {
        record.waiters.delete(requester.id);
        return { kind: 'non_owner', view: viewOf(record) };
      }
      const isNew = !record.waiters.has(requester.id);
      if (isNew && this.#settlements.living(record) >= WAITING_MAX) {
        return { kind: 'too_many', view: viewOf(record) };
      }
      record.waiters.set(requester.id, this.now());
      if (isOfAnother) return { kind: 'non_owner', view: viewOf(record) };
      if (isSold(record)) return { kind: 'owner', view: viewOf(record) };
      if (isNew && isEarly(record))
        for (const one of requester.credentials) record.eligible.add(one);
      if (record.key === '' && this.#settlements.isEligible(record, requester))
        record.key = requester.keyTag;
      return { kind: 'waiting', view: viewOf(record) };
    });
  }

  redeem({ id }: ClaimRef, requester: Requester, at: Finality | 'async'): Promise<RedeemResult> {
    return this.#step((): RedeemResult => {
      const record = this.#settlements.record(id);
      if (record === undefined) return { kind: 'gone' };
      const answer = (kind: Exclude<RedeemResult['kind'], 'gone'>): RedeemResult => ({
        kind,
        view: viewOf(record),
      });
      const isPaid = record.isPaid || (record.stage === 'included' && at !== 'finalized');
      if (at === 'async' && isOverUnpaid(record)) return answer('over');
      if (at === 'async' && takesNothing(record) && !isFinishedStage(record.stage)) {
        record.isAsync = true;
      }
      if (isSold(record)) {
        if (!isSoldTo(record, requester)) return answer('lost');
        if (!isPaid && at !== 'async') return answer('unpaid');
        if (record.soldTo !== requester.id) record.isKept = true;
        record.isAcknowledged ||= isPaid;
        record.waiters.delete(requester.id);
        return answer('sold');
      }
      if (!isPaid && at !== 'async') return answer('unpaid');
      if (record.key !== '' && record.key !== requester.keyTag) {
        return answer(this.#settlements.isPastGrace(record) ? 'lost' : 'not_eligible');
      }
      if (!this.#settlements.isEligible(record, requester)) return answer('not_eligible');
      if (this.#isAwaiting) return answer('not_yet');
      if (this.#settlements.lostTo(record.identity, requester)) return answer('lost');
      if (this.#settlements.isSoldByAnother(record, requester)) return answer('lost');
      this.#settlements.sell(record, requester, at === 'async', isPaid);
      record.waiters.delete(requester.id);
      return answer('sold');
    });
  }

  rollBack({ id }: ClaimRef, authorizationId: string, requester: Requester): Promise<boolean> {
    return this.#step(() => {
      this.#settlements.forgetLost(authorizationId, requester);
      const { sold } = this.#settlements.idsOf(authorizationId);
      const record = this.#settlements.record(id) ?? this.#settlements.record(sold);
      if (record?.soldTo !== requester.id || record.isKept) return false;
      this.#settlements.open(record);
      record.waiters.delete(requester.id);
      const isLeft = canWithdraw(record) && this.#settlements.living(record) === 0;
      if (isLeft && !this.#settlements.isUnsure(record)) this.#settlements.withdraw(record);
      else this.#settlements.publish(record, 'open');
      return true;
    });
  }

  leave(
    { id }: ClaimRef,
    requester: Requester,
    cause: 'timeout' | 'closed',
    knownHash: Hex | undefined,
  ): Promise<LeaveResult> {
    return this.#step((): LeaveResult => {
      const record = this.#settlements.record(id);
      if (record === undefined) return { kind: 'gone' };
      record.waiters.delete(requester.id);
      const isUnfinished = !isFinishedStage(record.stage);
      if (knownHash !== undefined && isUnfinished && !record.hashes.includes(knownHash)) {
        record.hashes.push(knownHash);
      }
      const isOver = cause === 'timeout' || this.#settlements.living(record) === 0;
      if (!canWithdraw(record) || !isOver) return { kind: 'left', view: viewOf(record) };
      if (this.#settlements.isUnsure(record)) return { kind: 'unsure', view: viewOf(record) };
      this.#settlements.withdraw(record);
      return { kind: 'withdrawn', view: viewOf(record) };
    });
  }

  replaySale(sale: AcknowledgedSale): Promise<boolean> {
    return this.#step(() => this.#settlements.sellAgain(sale));
  }

  replayWithdrawal(withdrawal: AcknowledgedWithdrawal): Promise<boolean> {
    return this.#step(() => this.#settlements.withdrawAgain(withdrawal));
  }

  heartbeat(_chainId: number, processId: string, hasReplayed: () => boolean): Promise<void> {
    return this.#step(() => {
      for (const [other, at] of this.#speakers) {
        if (this.now() - at > AWAITED_MS) this.#speakers.delete(other);
      }
      this.#speakers.set(processId, this.now());
      if (hasReplayed()) this.#awaited.delete(processId);
    });
  }

  depart(_chainId: number, processId: string, hasReplayed: () => boolean): Promise<void> {
    return this.#step(() => {
      if (!hasReplayed()) return;
      this.#speakers.delete(processId);
      this.#awaited.delete(processId);
    });
  }

  adopt(requester: Requester, adoption: Adoption): Promise<AdoptResult> {
    return this.#step((): AdoptResult => {
      const { id, identity, transaction, settledAmount } = adoption;
      const index = this.#settlements.idsOf(identity.authorizationId);
      const others = [index.live, index.sold, index.last].filter((one) => one !== id);
      if (others.some((one) => this.#settlements.record(one) !== undefined)) {
        return { kind: 'known' };
      }
      const known = this.#settlements.record(id);
      if (known !== undefined && !isSoldTo(known, requester)) return { kind: 'known' };
      if (known !== undefined) {
        known.isKept ||= known.soldTo !== requester.id;
        return { kind: 'sold', view: viewOf(known) };
      }
      if (this.#isAwaiting) return { kind: 'not_yet' };
      if (this.#settlements.lostTo(identity, requester)) return { kind: 'known' };
      const claim = { identity, payment: undefined, isAccepted: false, settledAmount };
      const record = newRecord(id, claim, requester, this.now());
      record.stage = 'finalized';
      record.isPaid = true;
      record.hashes = [transaction];
      record.includedAt = this.now();
      this.#settlements.add(record, { last: id });
      this.#settlements.sell(record, requester, false, true);
      return { kind: 'sold', view: viewOf(record) };
    });
  }

  onEpochChange(listener: (chainId: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // ---------------------------------------------------------------- parts

  /** Whether the ledger went back, and processes that lived before may still have to replay their answers. */
  get #isAwaiting(): boolean {
    const { epochAt } = this.#settlements;
    const ms = this.#awaited.size > 0 ? AWAITED_MS : RESTATE_MS;
    return epochAt > 0 && this.now() - epochAt < ms;
  }

  #step<T>(take: () => T): Promise<T> {
    if (this.outage === 'away') return Promise.reject(new RedisUnavailableError('step', 'away'));
    const result = take();
    return this.outage === 'replies_lost'
      ? Promise.reject(new RedisUnavailableError('step', 'the reply was lost'))
      : Promise.resolve(result);
  }
}
