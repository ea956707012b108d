import { isTransferLog, type ReceiptLog, type Transfer } from '../evm/logs.js';

/** The first log of exactly this transfer that has not paid another settlement. */
export function transferIn(
  transfer: Transfer,
  logs: readonly ReceiptLog[],
  taken: ReadonlySet<number>,
): ReceiptLog | undefined {
  return logs.find((log) => !taken.has(log.logIndex) && isTransferLog(log, transfer));
}
