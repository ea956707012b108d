import type { RecordedSettlement } from './recorded-settlement.js';

/**
 * Whether a finished settlement may leave the ledger once it is archived: whether chain and archive then say
 * the same of it as its record, and nothing of it can change any more.
 *
 * - Paid and sold: the chain calls its authorization used for ever, and the archive knows by whom it was
 *   bought. What is paid and not sold is still to be sold, which only the ledger does.
 * - Failed, and told to nobody as a success: used elsewhere, late, or free to be claimed anew. What somebody
 *   was told is paid stays known as sold, for the chain does not say so.
 * - What was settled without a transaction stays: the chain knows nothing of it.
 */
export function mayLeave({ view, isTold, times }: RecordedSettlement): boolean {
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
