import { isTransferLog, type ReceiptLog } from '../evm/logs.js';
import type { AcceptedPayment } from '../payment/accepted-payment.js';

/** The first `Transfer` of exactly this payment that has not paid another one. */
export function transferIn(
  { asset, payTo, amount, authorization }: AcceptedPayment,
  logs: readonly ReceiptLog[],
  taken: ReadonlySet<number>,
): ReceiptLog | undefined {
  const sought = { asset, payer: authorization.from, payTo, amount };
  return logs.find((log) => !taken.has(log.logIndex) && isTransferLog(log, sought));
}
