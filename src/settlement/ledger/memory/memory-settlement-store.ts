import type { Hex } from 'viem';
import { RedisUnavailableError } from '../../../protocol/errors.js';
import type { Reason } from '../../../protocol/reasons.js';
import type { AcceptedPayment } from '../../../protocol/payment/accepted-payment.js';
import { inFlightKindOf } from '../../../protocol/payment/payment-facts.js';
import { type PaymentIdentity, settlementIdOf } from '../../../protocol/payment/identity.js';
import type { Finality, SettlementView } from '../../model/settlement.js';
import {
  isFinishedStage,
  nextStage,
  type SettlementEvent,
  type Stage,
  STATE_OF,
} from '../../model/settlement-machine.js';
import {
  type Binding,
  type BoundPayment,
  isOfPayment,
  paymentNameOf,
  readBinding,
} from '../binding.js';
import type { InFlight } from '../queries/in-flight.js';
import type { Requester } from '../requester.js';
import {
  type Adoption,
  BINDING_RENEWED_MS,
  type BindResult,
  type Claim,
  type ClaimRef,
  type ClaimResult,
  type JoinResult,
  type LeaveResult,
  type Look,
  type MadeSale,
  type PayerRef,
  type RedeemResult,
  RESTATE_MS,
  type SettlementStore,
  UNSURE_MS,
  WAITER_LIVES_MS,
  WAITING_MAX,
} from '../settlement-store.js';

interface MemoryRecord {
  readonly id: string;
  readonly identity: PaymentIdentity;
  readonly payment: AcceptedPayment | undefined;
  stage: Stage;
  isPaid: boolean;
  soldTo: string;
  soldKey: string;
  isKept: boolean;
  isTold: boolean;
  key: string;
  isAsync: boolean;
  hashes: Hex[];
  reason: Reason | undefined;
  readonly claimedAt: number;
  includedAt: number;
  readonly eligible: Set<string>;
  readonly waiters: Map<string, number>;
}

type Index = Partial<Record<'live' | 'sold' | 'last', string>>;

/** What is told to whoever listens for news: the same as the scripts publish. */
export type MemoryNews = (id: string, kind: string, transaction?: Hex) => void;

/**
 * {@link SettlementStore} without Redis, for tests in milliseconds. What lanes do is done to it by
 * {@link MemorySettlementStore.happens}. It keeps no lists and no lifetimes.
 */
export class MemorySettlementStore implements SettlementStore {
  readonly #records = new Map<string, MemoryRecord>();
  readonly #indexes = new Map<string, Index>();
  readonly #bindings = new Map<string, string>();
  readonly #listeners = new Set<(chainId: number) => void>();
  #epochAt = 0;
  /** Every chain that anything was claimed on. */
  readonly #chainIds = new Set<number>();
  /** While it is away every step fails; `lost` steps are taken all the same. */
  outage: 'none' | 'away' | 'replies_lost' = 'none';
  queueMax = 1000;
  onNews: MemoryNews = () => undefined;

  constructor(
    private readonly now: () => number,
    private readonly saleGraceMs: number,
  ) {}

  // ---------------------------------------------------------------- what lanes do

  /** @param transaction - of an `allocated` or an inclusion. */
  happens(id: string, event: SettlementEvent, transaction?: Hex, reason?: Reason): void {
    const record = this.#record(id);
    if (record === undefined) throw new Error('no such record');
    const isUnpaidEnd = event === 'finalized_unpaid_reverted';
    if (isUnpaidEnd && record.isTold) {
      this.happens(id, 'recollect');
      return;
    }
    if (event === 'refused' && record.hashes.length > 0) throw new Error('it was sent');
    this.#advance(record, event);
    if (transaction !== undefined && !record.hashes.includes(transaction)) {
      record.hashes.push(transaction);
    }
    record.reason = reason;
    const { stage } = record;
    if (stage === 'attempt') {
      this.#news(record, 'sent', transaction);
      record.includedAt = 0;
    } else if (stage === 'included') {
      record.includedAt ||= this.now();
      record.isTold ||= record.isAsync;
      this.#news(record, 'included', transaction);
    } else if (stage === 'finalized' || stage === 'foreign') {
      record.isPaid = event !== 'used_by_other_unpaid';
      record.includedAt ||= this.now();
    }
    if (isFinishedStage(record.stage)) this.#conclude(record);
  }

  /** The ledger went back: other processes and this one are told. */
  goBack(): void {
    this.#epochAt = this.now();
    for (const chainId of this.#chainIds) {
      for (const listener of [...this.#listeners]) listener(chainId);
    }
  }

  /** As a flush does. */
  forgetAll(): void {
    this.#records.clear();
    this.#indexes.clear();
    this.goBack();
  }

  /** As an older snapshot does: nobody has bought it, as far as it says. */
  forgetSale(id: string): void {
    const record = this.#record(id);
    if (record !== undefined) this.#open(record);
  }

  idsOf(identity: PaymentIdentity): Index {
    return this.#indexes.get(identity.authorizationId) ?? {};
  }

  // ---------------------------------------------------------------- the port

  look(identity: PaymentIdentity, payer: PayerRef): Promise<Look> {
    return this.#step(() => {
      const index = this.idsOf(identity);
      const record = [index.sold, index.live, index.last]
        .map((id) => this.#record(id))
        .find((one) => one !== undefined);
      return {
        known: record && viewOf(record),
        isWaitedFor: record !== undefined && this.#living(record) > 0,
        inFlight: this.#inFlight(identity, payer),
        recentReverts: 0,
      };
    });
  }

  bindingOf(keyTag: string): Promise<Binding | undefined> {
    return this.#step(() => {
      const value = this.#bindings.get(keyTag);
      return value === undefined ? undefined : readBinding(value);
    });
  }

  bind(requester: Requester, payment: BoundPayment): Promise<BindResult> {
    return this.#step((): BindResult => {
      const found = this.#bindings.get(requester.keyTag);
      if (found !== undefined) {
        const binding = readBinding(found);
        const ageMs = this.now() - binding.at;
        if (!isOfPayment(binding, payment.chainId, payment)) {
          return { kind: 'other', binding, ageMs };
        }
        if (ageMs < BINDING_RENEWED_MS) return { kind: 'bound', ageMs };
      }
      this.#bindTo(requester, payment);
      return { kind: 'bound', ageMs: 0 };
    });
  }

  takeOver(requester: Requester, payment: BoundPayment, from: Binding): Promise<boolean> {
    return this.#step(() => {
      if (this.#bindings.get(requester.keyTag) !== from.value) return false;
      this.#bindTo(requester, payment);
      return true;
    });
  }

  unbind(requester: Requester, payment: BoundPayment): Promise<void> {
    return this.#step(() => {
      const found = this.#bindings.get(requester.keyTag);
      const own = `${paymentNameOf(payment.chainId, payment)}|${requester.id}|`;
      if (found?.startsWith(own)) this.#bindings.delete(requester.keyTag);
    });
  }

  hasClaim(_chainId: number, authorizationId: string): Promise<boolean> {
    return this.#step(() => Object.keys(this.#indexes.get(authorizationId) ?? {}).length > 0);
  }

  claim(requester: Requester, claim: Claim): Promise<ClaimResult> {
    return this.#step((): ClaimResult => {
      const { identity, isHandedOut } = claim;
      const id = settlementIdOf(identity, requester.id);
      const queued = [...this.#records.values()].filter(
        ({ stage }) => stage !== 'none' && STATE_OF[stage] === 'queued',
      ).length;
      if (this.#records.has(id)) return { kind: 'claimed', id, queued };
      const index = this.idsOf(identity);
      if (this.#record(index.live) ?? this.#record(index.sold)) return { kind: 'known' };
      const last = this.#record(index.last);
      if (last?.stage === 'foreign' || last?.isPaid) return { kind: 'known' };
      if (queued >= this.queueMax) return { kind: 'queue_full', queued };
      const record = newRecord(id, claim, requester, this.now());
      this.#chainIds.add(claim.payment.chainId);
      this.#records.set(id, record);
      const now: Index = { ...index, live: id, ...(isHandedOut && { sold: id }) };
      this.#indexes.set(identity.authorizationId, now);
      record.waiters.set(requester.id, this.now());
      return { kind: 'claimed', id, queued };
    });
  }

  join({ id }: ClaimRef, requester: Requester): Promise<JoinResult> {
    return this.#step((): JoinResult => {
      const record = this.#record(id);
      if (record === undefined) return { kind: 'gone' };
      if (isSold(record)) {
        const kind = isSoldTo(record, requester) ? 'owner' : 'outsider';
        if (kind === 'owner') record.waiters.set(requester.id, this.now());
        else record.waiters.delete(requester.id);
        return { kind, view: viewOf(record) };
      }
      const isNew = !record.waiters.has(requester.id);
      if (isNew && this.#living(record) >= WAITING_MAX) {
        return { kind: 'too_many', view: viewOf(record) };
      }
      if (isNew && isEarly(record))
        for (const one of requester.credentials) record.eligible.add(one);
      if (record.key === '' && this.#isEligible(record, requester)) record.key = requester.keyTag;
      record.waiters.set(requester.id, this.now());
      return { kind: 'waiting', view: viewOf(record) };
    });
  }

  redeem({ id }: ClaimRef, requester: Requester, at: Finality | 'async'): Promise<RedeemResult> {
    return this.#step((): RedeemResult => {
      const record = this.#record(id);
      if (record === undefined) return { kind: 'gone' };
      const answer = (kind: Exclude<RedeemResult['kind'], 'gone'>): RedeemResult => ({
        kind,
        view: viewOf(record),
      });
      const isPaid = record.isPaid || (record.stage === 'included' && at !== 'finalized');
      const isOver = isFinishedStage(record.stage) && !record.isPaid && !record.isTold;
      if (at === 'async' && isOver) return answer('over');
      if (isSold(record)) {
        if (!isSoldTo(record, requester)) return answer('lost');
        if (!isPaid && at !== 'async') return answer('unpaid');
        if (record.soldTo !== requester.id) record.isKept = true;
        record.isTold ||= isPaid;
        record.waiters.delete(requester.id);
        return answer('sold');
      }
      if (!isPaid && at !== 'async') return answer('unpaid');
      const isForKey = record.key === '' || record.key === requester.keyTag;
      if (!isForKey || !this.#isEligible(record, requester)) return answer('not_eligible');
      if (this.#isUnsure(record, RESTATE_MS)) return answer('not_yet');
      this.#sell(record, requester, at === 'async', isPaid);
      record.waiters.delete(requester.id);
      return answer('sold');
    });
  }

  takeBack({ id }: ClaimRef, requester: Requester): Promise<boolean> {
    return this.#step(() => {
      const record = this.#record(id);
      if (record?.soldTo !== requester.id || record.isKept) return false;
      this.#open(record);
      record.waiters.delete(requester.id);
      if (canWithdraw(record) && this.#living(record) === 0) this.#withdraw(record);
      else this.#news(record, 'open');
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
      const record = this.#record(id);
      if (record === undefined) return { kind: 'gone' };
      record.waiters.delete(requester.id);
      const isUnfinished = !isFinishedStage(record.stage);
      if (knownHash !== undefined && isUnfinished && !record.hashes.includes(knownHash)) {
        record.hashes.push(knownHash);
      }
      const isOver = cause === 'timeout' || this.#living(record) === 0;
      if (!canWithdraw(record) || !isOver) return { kind: 'left', view: viewOf(record) };
      if (this.#isUnsure(record, UNSURE_MS)) return { kind: 'unsure', view: viewOf(record) };
      this.#withdraw(record);
      return { kind: 'withdrawn', view: viewOf(record) };
    });
  }

  restate({ ref, requester, isHandedOut }: MadeSale): Promise<boolean> {
    return this.#step(() => {
      const record = this.#record(ref.id);
      if (record === undefined) return false;
      if (isSold(record)) return isSoldTo(record, requester);
      this.#sell(record, requester, isHandedOut, !isHandedOut);
      return true;
    });
  }

  adopt(requester: Requester, adoption: Adoption): Promise<SettlementView | undefined> {
    return this.#step(() => {
      const { id, identity, transaction } = adoption;
      const index = this.idsOf(identity);
      const others = [index.live, index.sold, index.last].filter((one) => one !== id);
      if (others.some((one) => this.#record(one) !== undefined)) return undefined;
      const claim = { identity, payment: undefined, isHandedOut: false };
      const record = this.#record(id) ?? newRecord(id, claim, requester, this.now());
      record.stage = 'finalized';
      record.isPaid = true;
      record.hashes = [transaction];
      record.includedAt = this.now();
      this.#records.set(id, record);
      this.#indexes.set(identity.authorizationId, { last: id });
      this.#sell(record, requester, false, true);
      return viewOf(record);
    });
  }

  onEpochChange(listener: (chainId: number) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // ---------------------------------------------------------------- parts

  #step<T>(take: () => T): Promise<T> {
    if (this.outage === 'away') return Promise.reject(new RedisUnavailableError('step', 'away'));
    const result = take();
    return this.outage === 'replies_lost'
      ? Promise.reject(new RedisUnavailableError('step', 'the reply was lost'))
      : Promise.resolve(result);
  }

  #record(id: string | undefined): MemoryRecord | undefined {
    return id === undefined ? undefined : this.#records.get(id);
  }

  #advance(record: MemoryRecord, event: SettlementEvent): void {
    const next = nextStage(record.stage, event);
    if (next === undefined) throw new Error(`${event} cannot happen in ${record.stage}`);
    record.stage = next;
  }

  #conclude(record: MemoryRecord): void {
    const index = { ...this.idsOf(record.identity) };
    if (index.live === record.id) delete index.live;
    if (record.hashes.length > 0) index.last = record.id;
    record.isTold ||= record.isPaid && isSold(record);
    if (!record.isPaid && !record.isTold) {
      record.soldTo = '';
      record.soldKey = '';
    }
    if (!record.isTold && index.sold === record.id) delete index.sold;
    this.#indexes.set(record.identity.authorizationId, index);
    this.#news(record, record.isPaid ? 'finalized' : 'failed', record.hashes.at(-1));
  }

  #withdraw(record: MemoryRecord): void {
    this.#advance(record, 'withdrawn');
    record.reason = 'settlement_not_sent';
    this.#conclude(record);
  }

  #sell(record: MemoryRecord, requester: Requester, isAsync: boolean, isTold: boolean): void {
    record.soldTo = requester.id;
    record.soldKey = requester.keyTag;
    record.isAsync ||= isAsync;
    record.isTold = isTold;
    const { authorizationId } = record.identity;
    this.#indexes.set(authorizationId, { ...this.#indexes.get(authorizationId), sold: record.id });
    this.#news(record, 'sold');
  }

  #open(record: MemoryRecord): void {
    Object.assign(record, { soldTo: '', soldKey: '', isTold: false, isAsync: false });
    const index = this.#indexes.get(record.identity.authorizationId);
    if (index?.sold === record.id) delete index.sold;
  }

  #living({ waiters }: MemoryRecord): number {
    const since = this.now() - WAITER_LIVES_MS;
    return [...waiters.values()].filter((at) => at > since).length;
  }

  #isEligible(record: MemoryRecord, { credentials }: Requester): boolean {
    if (isEarly(record)) return true;
    const { includedAt, eligible } = record;
    if (includedAt > 0 && this.now() >= includedAt + this.saleGraceMs) return true;
    return credentials.some((one) => eligible.has(one));
  }

  #isUnsure({ claimedAt }: MemoryRecord, ms: number): boolean {
    return claimedAt < this.#epochAt && this.now() - this.#epochAt < ms;
  }

  #inFlight(identity: PaymentIdentity, { asset, payer }: PayerRef): InFlight {
    const others = [...this.#records.values()].flatMap(({ stage, payment, identity: own }) => {
      const isReserved = !isFinishedStage(stage) && stage !== 'included';
      const isOther = own.authorizationId !== identity.authorizationId;
      const isOfPayer = payment?.authorization.from === payer && payment.asset === asset;
      return isReserved && isOther && isOfPayer ? [payment] : [];
    });
    const sum = (payments: readonly AcceptedPayment[]): bigint =>
      payments.reduce((total, { amount }) => total + amount, 0n);
    return {
      balanceNeeded: sum(others),
      allowanceNeeded: sum(others.filter((one) => inFlightKindOf(one) === 'p')),
      hasSponsoredPermit: others.some((one) => inFlightKindOf(one) === 's'),
    };
  }

  #bindTo({ keyTag, id }: Requester, payment: BoundPayment): void {
    this.#bindings.set(keyTag, `${paymentNameOf(payment.chainId, payment)}|${id}|${this.now()}`);
  }

  #news({ id }: MemoryRecord, kind: string, transaction?: Hex): void {
    this.onNews(id, kind, transaction);
  }
}

function newRecord(
  id: string,
  {
    identity,
    payment,
    isHandedOut,
  }: Pick<MemoryRecord, 'identity' | 'payment'> & {
    readonly isHandedOut: boolean;
  },
  requester: Requester,
  now: number,
): MemoryRecord {
  return {
    ...{ id, identity, payment, stage: 'pending', isPaid: false, isKept: false, isTold: false },
    soldTo: isHandedOut ? requester.id : '',
    soldKey: isHandedOut ? requester.keyTag : '',
    key: requester.keyTag,
    isAsync: isHandedOut,
    ...{ hashes: [], reason: undefined, claimedAt: now, includedAt: 0 },
    eligible: new Set(requester.credentials),
    waiters: new Map(),
  };
}

function isEarly({ hashes }: MemoryRecord): boolean {
  return hashes.length === 0;
}

function isSold({ soldTo }: MemoryRecord): boolean {
  return soldTo !== '';
}

function isSoldTo({ soldTo, soldKey }: MemoryRecord, { id, keyTag }: Requester): boolean {
  return soldTo === id || (keyTag !== '' && soldKey === keyTag);
}

function canWithdraw(record: MemoryRecord): boolean {
  const isPossible = nextStage(record.stage, 'withdrawn') !== undefined;
  return isEarly(record) && !record.isAsync && isPossible;
}

function viewOf(record: MemoryRecord): SettlementView {
  const { stage } = record;
  if (stage === 'none') throw new Error('no record');
  const state = STATE_OF[stage];
  return {
    id: record.id,
    state,
    isPaid: state === 'included' || record.isPaid,
    sale: {
      state: isSold(record) ? 'sold' : 'open',
      requester: record.soldTo || undefined,
      soldKeyTag: record.soldKey || undefined,
      boundKeyTag: record.key || undefined,
    },
    termsTag: record.identity.termsTag,
    signedTag: record.identity.signedTag,
    transaction: record.hashes.at(-1),
    reason: record.reason,
    ...{ blockNumber: undefined, logIndex: undefined, batchSize: undefined },
    isAsync: record.isAsync,
  };
}
