import type { RecordedSettlement } from './recorded-settlement.js';

/**
 * Whether a finished settlement may be evicted from the ledger once it is archived: chain and archive must show the same
 * as its record, and nothing of it may change any more.
 *
 * - Paid and sold: the chain shows its authorization as used for ever, and the archive knows the buyer. While it is
 *   unsold it stays, as only the ledger can sell it.
 * - Failed, and never acknowledged as a success: used elsewhere, late, or free to be claimed again. A success that was
 *   acknowledged stays known as sold, for the chain does not show it.
 * - Settled without a transaction: it stays, as the chain knows nothing of it.
 */
export function mayLeave({ view, isAcknowledged: isTold, times }: RecordedSettlement): boolean {
  if (times.finished === undefined || view.transaction === undefined) return false;
  const isSold = view.sale.state === 'sold';
  switch (view.state) {
    case 'finalized':
      return view.isPaid && isSold;
    case 'foreign':
      return view.isPaid ? isSold : !isSold && !isTold;
    case 'reverted':
    case 'expired':
      return !isSold && !isTold;
    case 'queued':
    case 'broadcast':
    case 'included':
    case 'withdrawn':
      return false;
  }
}
