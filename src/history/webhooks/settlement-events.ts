import { hashOf } from '../../protocol/payment/hash.js';
import type { SettlementRow } from '../settlement-row.js';

/** The events of settlements, for sellers. */
export const SETTLEMENT_EVENTS = [
  'settlement.included',
  'settlement.finalized',
  'settlement.failed',
  'settlement.reorged',
  'settlement.unclaimed',
] as const;
export type WebhookEventType = (typeof SETTLEMENT_EVENTS)[number];

/** The columns that decide the events of a settlement. */
export type EventState = Pick<
  SettlementRow,
  'state' | 'is_paid' | 'transaction' | 'block_hash' | 'sale' | 'unclaimed_at'
>;

/**
 * The events between two states of a settlement, in order. The archive may have missed states in between, so a final
 * payment also counts as included.
 *
 * @param before - `undefined` for a settlement that is new to the archive.
 */
export function eventsBetween(
  before: EventState | undefined,
  after: EventState,
): readonly WebhookEventType[] {
  const wasPaid = before?.is_paid === true;
  if (after.is_paid) {
    const isSame = wasPaid && isOfSameBlock(before, after);
    return [
      ...(wasPaid && !isSame ? (['settlement.reorged'] as const) : []),
      ...(isSame ? [] : (['settlement.included'] as const)),
      ...(isFinal(after) && !(isSame && isFinal(before))
        ? (['settlement.finalized'] as const)
        : []),
      ...(isUnclaimed(after) && !(before !== undefined && isUnclaimed(before))
        ? (['settlement.unclaimed'] as const)
        : []),
    ];
  }
  const hasFailed = isFailed(after) && !(before !== undefined && isFailed(before));
  return [
    ...(wasPaid ? (['settlement.reorged'] as const) : []),
    ...(hasFailed ? (['settlement.failed'] as const) : []),
  ];
}

function isFinal({ state, is_paid }: EventState): boolean {
  return is_paid && state !== 'included';
}

function isUnclaimed({ sale, unclaimed_at }: EventState): boolean {
  return unclaimed_at !== null && sale === 'open';
}

function isFailed({ state, is_paid }: EventState): boolean {
  return !is_paid && ['reverted', 'expired', 'foreign', 'withdrawn'].includes(state);
}

/** A block with an unknown hash counts as the same block if the transaction is the same. */
function isOfSameBlock(before: EventState, after: EventState): boolean {
  if (before.transaction?.toString('hex') !== after.transaction?.toString('hex')) return false;
  if (before.block_hash === null || after.block_hash === null) return true;
  return before.block_hash.equals(after.block_hash);
}

/** The id of an event. It is deterministic, so repeated processing finds the same id. */
export function eventIdOf(type: WebhookEventType, row: SettlementRow): string {
  const { id, epoch, version_ms, version_sequence } = row;
  const name = ['event', type, id.toString('hex'), epoch, version_ms, version_sequence];
  return `evt_${hashOf(name).slice(0, 32)}`;
}
