import type { Hex } from 'viem';
import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import type { PaymentIdentity } from '../../../../src/protocol/payment/identity.js';
import { chargedTo, inFlightKindOf } from '../../../../src/protocol/payment/payment-facts.js';
import type { Reason } from '../../../../src/protocol/reasons.js';
import type { Requester } from '../../../../src/settlement/ledger/requester.js';
import type { InFlight } from '../../../../src/settlement/ledger/settlement-store.js';
import {
  type AcknowledgedSale,
  type AcknowledgedWithdrawal,
  type Claim,
  type PayerRef,
  UNSURE_MS,
  WAITER_LIVES_MS,
} from '../../../../src/settlement/ledger/settlement-store.js';
import {
  nextStage,
  type StageEvent,
  STATE_OF,
} from '../../../../src/settlement/model/settlement-machine.js';
import {
  PLACE_MS,
  sponsoringCell,
  type SponsoringEvent,
  sponsoringEvent,
} from '../../../../src/settlement/model/sponsoring-machine.js';
import { isFinishedStage } from '../finished-stage.js';
import {
  canWithdraw,
  isEarly,
  isOverUnpaid,
  isSold,
  isSoldTo,
  isUnsold,
  type MemoryRecord,
  takesNothing,
} from './memory-record.js';

/** Ids of the claims of one authorization. */
export type Index = Partial<Record<'live' | 'sold' | 'last', string>>;

/** A listener of events: the same as the scripts publish. */
export type UpdateListener = (id: string, kind: string, transaction?: Hex) => void;

type RequesterName = Pick<Requester, 'id' | 'keyTag'>;

/** To which nothing was ever sold. */
export const NOBODY: RequesterName = { id: '', keyTag: '' };

/** The requester of a success, and whether a second requester of its key had one as well. */
interface LostSale {
  readonly soldTo: string;
  readonly soldKey: string;
  readonly isKept: boolean;
}

/** The claims of a ledger in memory, who has bought them, and how lanes move them. */
export class MemorySettlements {
  readonly #records = new Map<string, MemoryRecord>();
  readonly #indexes = new Map<string, Index>();
  /** How long payers had places that came to nothing, ms; a minute for a signed payment that has none again. */
  readonly #placed = new Map<string, number>();
  /** The requesters with success whose claim the ledger lost, by authorization. */
  readonly #lostSales = new Map<string, LostSale>();
  /** When the ledger went back last. */
  epochAt = 0;

  constructor(
    private readonly now: () => number,
    private readonly saleGraceMs: number,
    private readonly tell: UpdateListener,
  ) {}

  add(record: MemoryRecord, index: Index): void {
    this.#records.set(record.id, record);
    this.#indexes.set(record.identity.authorizationId, index);
  }

  /** Those that can be sent, without those whose payer's own transaction comes first. */
  get queued(): number {
    return this.#waiting.filter((payment) => inFlightKindOf(payment) !== 'a').length;
  }

  /** Of those, how many count for an account. */
  queuedFor(account: string): number {
    return this.#waiting.filter(
      (payment) => inFlightKindOf(payment) !== 'a' && chargedTo(payment) === account,
    ).length;
  }

  /** Those whose payer's own transaction comes first; of one asset where it is given. */
  sponsored(asset?: string): number {
    return this.#waiting.filter(
      (payment) => inFlightKindOf(payment) === 'a' && (asset ?? payment.asset) === payment.asset,
    ).length;
  }

  get #waiting(): AcceptedPayment[] {
    return [...this.#records.values()].flatMap(({ stage, payment }) =>
      payment !== undefined && stage !== 'none' && STATE_OF[stage] === 'queued' ? [payment] : [],
    );
  }

  /** Whether own transactions of the payer were waited for before, and did not come: see `PLACE_MS`. */
  hadItsPlace({ identity, payment }: Pick<Claim, 'identity' | 'payment'>): boolean {
    const all = [identity.authorizationId, payerOf(payment)];
    return all.some((who) => (this.#placed.get(who) ?? 0) >= PLACE_MS);
  }

  #countPlace(who: string, ms: number): void {
    this.#placed.set(who, (this.#placed.get(who) ?? 0) + ms);
  }

  clear(): void {
    this.#records.clear();
    this.#indexes.clear();
    this.#lostSales.clear();
  }

  /** @param transaction - of an `allocated` or an inclusion. */
  happens(id: string, event: StageEvent, transaction?: Hex, reason?: Reason): void {
    const record = this.record(id);
    if (record === undefined) throw new Error('no such record');
    const isUnpaidEnd = event === 'finalized_unpaid_reverted';
    if (isUnpaidEnd && record.isAcknowledged) {
      this.happens(id, 'recollect');
      return;
    }
    if (event === 'refused' && record.hashes.length > 0) throw new Error('it was sent');
    this.#advance(record, event, reason);
    if (transaction !== undefined && !record.hashes.includes(transaction)) {
      record.hashes.push(transaction);
    }
    // Another sender has paid it, by a transaction that is not known.
    if (event === 'used_by_other_paid' && transaction === undefined) record.hashes = [];
    record.reason = reason;
    const { stage } = record;
    if (stage === 'attempt') {
      this.publish(record, 'sent', transaction);
      record.includedAt = 0;
    } else if (stage === 'included') {
      record.includedAt ||= this.now();
      record.isAcknowledged ||= record.isAsync;
      this.publish(record, 'included', transaction);
    } else if (stage === 'finalized' || stage === 'foreign') {
      record.isPaid = event !== 'used_by_other_unpaid';
      record.includedAt ||= this.now();
    }
    if (isFinishedStage(record.stage)) this.#conclude(record);
  }

  idsOf(authorizationId: string): Index {
    return this.#indexes.get(authorizationId) ?? {};
  }

  record(id: string | undefined): MemoryRecord | undefined {
    return id === undefined ? undefined : this.#records.get(id);
  }

  #advance(record: MemoryRecord, event: StageEvent, reason?: Reason): void {
    const next = nextStage(record.stage, event);
    if (next === undefined) throw new Error(`${event} cannot happen in ${record.stage}`);
    this.#sponsor(record, sponsoringEvent(event, reason));
    record.stage = next;
  }

  #sponsor(record: MemoryRecord, event: SponsoringEvent): void {
    if (record.payment === undefined || inFlightKindOf(record.payment) !== 'a') return;
    const cell = sponsoringCell(record.approval, event);
    if (cell === undefined) return;
    record.approval = cell.next;
    if (event === 'taken') record.placedAt = this.now();
    const { marks } = cell;
    if (marks.includes('payment')) this.#countPlace(record.identity.authorizationId, PLACE_MS);
    if (record.stage === 'work' && (marks.includes('payment') || marks.includes('time'))) {
      this.#countPlace(payerOf(record.payment), this.now() - record.placedAt);
    }
  }

  /** Paid, final, and without a sale for so many milliseconds. */
  unclaimed(afterMs: number): readonly string[] {
    const until = this.now() - afterMs;
    const late = [...this.#records.values()].filter(
      (one) => isUnsold(one) && one.unsoldAt <= until && !this.isSoldByAnother(one, NOBODY),
    );
    for (const one of late) {
      const lost = this.lostTo(one.identity, NOBODY);
      if (lost === undefined) continue;
      this.sell(one, { id: lost.soldTo, keyTag: lost.soldKey }, false, true);
      one.isKept = lost.isKept;
    }
    return late.filter(isUnsold).map(({ id }) => id);
  }

  #conclude(record: MemoryRecord): void {
    record.unsoldAt = this.now();
    const index = { ...this.idsOf(record.identity.authorizationId) };
    if (index.live === record.id) delete index.live;
    if (record.hashes.length > 0 || record.isPaid) index.last = record.id;
    record.isAcknowledged ||= record.isPaid && isSold(record);
    if (!record.isPaid && !record.isAcknowledged) {
      record.soldTo = '';
      record.soldKey = '';
    }
    if (!record.isAcknowledged && index.sold === record.id) delete index.sold;
    this.#indexes.set(record.identity.authorizationId, index);
    this.publish(record, record.isPaid ? 'finalized' : 'failed', record.hashes.at(-1));
  }

  withdraw(record: MemoryRecord, reason: Reason = 'settlement_not_sent'): void {
    this.#advance(record, 'withdrawn');
    record.reason = reason;
    this.#conclude(record);
  }

  sell(
    record: MemoryRecord,
    requester: RequesterName,
    isAsync: boolean,
    isAcknowledged: boolean,
  ): void {
    record.soldTo = requester.id;
    record.soldKey = requester.keyTag;
    record.isAsync ||= isAsync;
    record.isAcknowledged = isAcknowledged;
    const { authorizationId } = record.identity;
    this.#indexes.set(authorizationId, { ...this.#indexes.get(authorizationId), sold: record.id });
    this.publish(record, 'sold');
  }

  /** As `replaySale` of the port. */
  sellAgain({ ref, authorizationId, requester, isAccepted }: AcknowledgedSale): boolean {
    const record = this.record(ref.id);
    const lost = this.#lostSales.get(authorizationId);
    const isOwn = lost !== undefined && isSoldTo(lost, requester);
    const isKept = isOwn && (lost.isKept || lost.soldTo !== requester.id);
    if (record === undefined) {
      const { id: soldTo, keyTag: soldKey } = requester;
      if (isOwn) this.#lostSales.set(authorizationId, { ...lost, isKept });
      else if (!lost) this.#lostSales.set(authorizationId, { soldTo, soldKey, isKept: false });
      return false;
    }
    if (isSold(record) && !isSoldTo(record, requester)) return false;
    if (isOwn) this.#lostSales.delete(authorizationId);
    if (isAccepted && isOverUnpaid(record)) return true;
    const isSecond = isSold(record) && record.soldTo !== requester.id;
    if (!isSold(record)) this.sell(record, requester, isAccepted, !isAccepted);
    record.isKept ||= isKept || isSecond;
    return true;
  }

  /** The answer to this requester did not arrive. */
  forgetLost(authorizationId: string, { id }: Requester): void {
    const lost = this.#lostSales.get(authorizationId);
    if (lost?.soldTo === id && !lost.isKept) this.#lostSales.delete(authorizationId);
  }

  /** The sale of a claim that the ledger lost, to another requester. */
  lostTo({ authorizationId }: PaymentIdentity, requester: RequesterName): LostSale | undefined {
    const lost = this.#lostSales.get(authorizationId);
    return lost !== undefined && isSoldTo(lost, requester) ? undefined : lost;
  }

  /** Whether another claim of its authorization is sold to another requester. */
  isSoldByAnother({ id, identity }: MemoryRecord, requester: RequesterName): boolean {
    const other = this.record(this.idsOf(identity.authorizationId).sold);
    return other !== undefined && other.id !== id && isSold(other) && !isSoldTo(other, requester);
  }

  /** As `replayWithdrawal` of the port. */
  withdrawAgain({ ref, reason }: AcknowledgedWithdrawal): boolean {
    const record = this.record(ref.id);
    if (record === undefined || (isEarly(record) && isOverUnpaid(record))) return true;
    if (!canWithdraw(record) || record.isAcknowledged) return false;
    this.withdraw(record, reason);
    return true;
  }

  open(record: MemoryRecord): void {
    const isAsync = record.isAsync && takesNothing(record);
    Object.assign(record, { soldTo: '', soldKey: '', isAcknowledged: false, isAsync });
    record.unsoldAt = this.now();
    const index = this.#indexes.get(record.identity.authorizationId);
    if (index?.sold === record.id) delete index.sold;
  }

  queueAgain(id: string): void {
    const record = this.record(id);
    if (record === undefined) return;
    Object.assign(record, { stage: 'ready', reason: undefined });
    const { authorizationId } = record.identity;
    this.#indexes.set(authorizationId, { ...this.idsOf(authorizationId), live: id });
  }

  living({ waiters }: MemoryRecord): number {
    const since = this.now() - WAITER_LIVES_MS;
    return [...waiters.values()].filter((at) => at > since).length;
  }

  isPastGrace({ includedAt }: MemoryRecord): boolean {
    return includedAt > 0 && this.now() >= includedAt + this.saleGraceMs;
  }

  isEligible(record: MemoryRecord, { credentials }: Requester): boolean {
    if (isEarly(record)) return true;
    return this.isPastGrace(record) || credentials.some((one) => record.eligible.has(one));
  }

  /** Whether the ledger may have lost that bytes were signed for its authorization. */
  isUnsure({ claimedAt }: MemoryRecord): boolean {
    return this.epochAt > 0 && claimedAt < this.epochAt + UNSURE_MS;
  }

  inFlight(identity: PaymentIdentity, { asset, payer }: PayerRef): InFlight {
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
      claims: others.filter((one) => inFlightKindOf(one) === 'c').length,
    };
  }

  /** Whether another payment of this payer is in flight whose payer's own transaction comes first. */
  hasOwnTransaction({ payment: { chainId, authorization } }: Pick<Claim, 'payment'>): boolean {
    return [...this.#records.values()].some(({ stage, payment }) => {
      const isReserved = !isFinishedStage(stage) && stage !== 'included';
      const isOfPayer =
        payment?.chainId === chainId && payment.authorization.from === authorization.from;
      return isReserved && isOfPayer && inFlightKindOf(payment) === 'a';
    });
  }

  publish({ id }: MemoryRecord, kind: string, transaction?: Hex): void {
    this.tell(id, kind, transaction);
  }
}

const payerOf = ({ chainId, authorization }: AcceptedPayment): string =>
  `${chainId}:${authorization.from}`;
