import type { ReceiptLog } from '../evm/logs.js';
import type { AcceptedPayment } from '../payment/accepted-payment.js';
import { transferOf } from '../payment/payment-facts.js';
import { actionOf } from './registry.js';

interface EvidencedItem {
  readonly id: string;
  readonly payment: AcceptedPayment;
}

/** Settlements whose evidence names the authorization choose first. */
const PASSES = [true, false] as const;

/**
 * Assigns the logs of a mined transaction to its settlements, by the rules of their schemes. Each log pays for one
 * settlement.
 *
 * @returns the log index of the `Transfer` by settlement id; unpaid settlements are missing.
 */
export function creditLogs(
  items: readonly EvidencedItem[],
  logs: readonly ReceiptLog[],
): ReadonlyMap<string, number> {
  const credited = new Map<string, number>();
  const taken = new Set<number>();
  for (const isNamed of PASSES) {
    for (const { id, payment } of items) {
      const { authorization } = payment;
      const { evidence } = actionOf(authorization);
      if (evidence.by !== 'logs' || evidence.isNamed !== isNamed) continue;
      const log = evidence.logOf(transferOf(payment), authorization, logs, taken);
      if (log === undefined) continue;
      taken.add(log.logIndex);
      credited.set(id, log.logIndex);
    }
  }
  return credited;
}
