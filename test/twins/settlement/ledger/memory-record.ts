import type { Hex } from 'viem';
import type { AcceptedPayment } from '../../../../src/protocol/payment/accepted-payment.js';
import type { PaymentIdentity } from '../../../../src/protocol/payment/identity.js';
import { inFlightKindOf, settledAmountOf } from '../../../../src/protocol/payment/payment-facts.js';
import type { Reason } from '../../../../src/protocol/reasons.js';
import type { Requester } from '../../../../src/settlement/ledger/requester.js';
import type { SettlementView } from '../../../../src/settlement/model/settlement.js';
import {
  nextStage,
  type Stage,
  STATE_OF,
} from '../../../../src/settlement/model/settlement-machine.js';
import type { SponsoringState } from '../../../../src/settlement/model/sponsoring-machine.js';
import { isFinishedStage } from '../finished-stage.js';

/** A claim as the twin in memory keeps it. */
export interface MemoryRecord {
  readonly id: string;
  readonly identity: PaymentIdentity;
  readonly payment: AcceptedPayment | undefined;
  readonly settledAmount: bigint | undefined;
  stage: Stage;
  isPaid: boolean;
  soldTo: string;
  soldKey: string;
  isKept: boolean;
  isAcknowledged: boolean;
  key: string;
  isAsync: boolean;
  hashes: Hex[];
  reason: Reason | undefined;
  readonly claimedAt: number;
  includedAt: number;
  /** When it ended, or was open again after that. */
  unsoldAt: number;
  approval: SponsoringState;
  placedAt: number;
  readonly eligible: Set<string>;
  readonly waiters: Map<string, number>;
}

export function newRecord(
  id: string,
  {
    identity,
    payment,
    isAccepted,
    settledAmount = payment && settledAmountOf(payment),
  }: Pick<MemoryRecord, 'identity' | 'payment'> & {
    readonly settledAmount?: bigint | undefined;
    readonly isAccepted: boolean;
  },
  requester: Requester,
  now: number,
): MemoryRecord {
  return {
    settledAmount,
    id,
    identity,
    payment,
    stage: 'pending',
    isPaid: false,
    isKept: false,
    isAcknowledged: false,
    soldTo: isAccepted ? requester.id : '',
    soldKey: isAccepted ? requester.keyTag : '',
    key: requester.keyTag,
    isAsync: isAccepted,
    hashes: [],
    reason: undefined,
    claimedAt: now,
    includedAt: 0,
    unsoldAt: 0,
    approval: payment !== undefined && inFlightKindOf(payment) === 'a' ? 'asked' : 'none',
    placedAt: 0,
    eligible: new Set(requester.credentials),
    waiters: new Map(),
  };
}

export function isEarly({ hashes }: MemoryRecord): boolean {
  return hashes.length === 0;
}

export function isSold({ soldTo }: MemoryRecord): boolean {
  return soldTo !== '';
}

/** No goods depend on it. */
export function takesNothing({ payment }: MemoryRecord): boolean {
  return payment !== undefined && ['n', 'c'].includes(inFlightKindOf(payment));
}

/** Paid by a transaction that is final, and not sold, where goods depend on it. */
export function isUnsold(record: MemoryRecord): boolean {
  const { stage, isPaid, hashes } = record;
  if (takesNothing(record)) return false;
  return isFinishedStage(stage) && isPaid && hashes.length > 0 && !isSold(record);
}

/** It has ended unpaid, and success was never acknowledged. */
export function isOverUnpaid({ stage, isPaid, isAcknowledged }: MemoryRecord): boolean {
  return isFinishedStage(stage) && !isPaid && !isAcknowledged;
}

export function isSoldTo(
  { soldTo, soldKey }: Pick<MemoryRecord, 'soldTo' | 'soldKey'>,
  { id, keyTag }: Pick<Requester, 'id' | 'keyTag'>,
): boolean {
  return soldTo === id || (keyTag !== '' && soldKey === keyTag);
}

export function canWithdraw(record: MemoryRecord): boolean {
  const isPossible = nextStage(record.stage, 'withdrawn') !== undefined;
  return isEarly(record) && !record.isAsync && isPossible;
}

export function viewOf(record: MemoryRecord): SettlementView {
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
    blockNumber: undefined,
    logIndex: undefined,
    batchSize: undefined,
    isAsync: record.isAsync,
    settledAmount: record.settledAmount,
  };
}
