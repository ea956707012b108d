import type { Hex } from 'viem';
import type { AcceptedPayment } from '../../payment/accepted-payment.js';
import { addressWord } from '../../evm/abi-words.js';
import { AUTHORIZATION_USED_TOPIC, isTransferLog, type ReceiptLog } from '../../evm/logs.js';

export interface EvidencedItem {
  readonly id: string;
  readonly payment: AcceptedPayment;
}

/**
 * Which settlements of a mined transaction were paid, read from its logs: for EIP-3009
 * `AuthorizationUsed(payer, nonce)` and the `Transfer`, for Permit2, whose nonce leaves no event, the
 * `Transfer`. One log is credited to one settlement. Those whose evidence names the authorization
 * choose first.
 *
 * @returns the log index of the credited `Transfer` by settlement id; unpaid ones are missing.
 */
export function creditLogs(
  items: readonly EvidencedItem[],
  logs: readonly ReceiptLog[],
): ReadonlyMap<string, number> {
  const credited = new Map<string, number>();
  const taken = new Set<number>();
  for (const method of ['eip3009', 'permit2'] as const) {
    for (const { id, payment } of items) {
      if (payment.authorization.method !== method) continue;
      if (!isAuthorizationUsed(payment, logs)) continue;
      const sought = { ...payment, payer: payment.authorization.from };
      const transfer = logs.find((log) => !taken.has(log.logIndex) && isTransferLog(log, sought));
      if (transfer === undefined) continue;
      taken.add(transfer.logIndex);
      credited.set(id, transfer.logIndex);
    }
  }
  return credited;
}

function isAuthorizationUsed(
  { asset, authorization }: AcceptedPayment,
  logs: readonly ReceiptLog[],
): boolean {
  if (authorization.method === 'permit2') return true;
  const payer: Hex = `0x${addressWord(authorization.from)}`;
  return logs.some(
    ({ address, topics }) =>
      address === asset &&
      topics[0] === AUTHORIZATION_USED_TOPIC &&
      topics[1] === payer &&
      topics[2] === authorization.nonce,
  );
}
