import { hexOf } from '../../history/postgres/bytea.js';
import type { ClaimOutcome } from '../catalogue.js';

/** States in which a claim has ended without a payment. */
const OVER: ReadonlySet<string> = new Set(['reverted', 'expired', 'foreign', 'withdrawn']);

/** The columns of a history row that hold the outcome of a claim. */
interface OutcomeRow {
  readonly state: string;
  readonly is_paid: boolean;
  readonly scheme: string | null;
  readonly method: string | null;
  readonly asset: Buffer | null;
  readonly pay_to: Buffer | null;
  readonly amount: string | null;
  readonly settled_amount: string | null;
  readonly claimed_at: Date;
  readonly included_at: Date | null;
  readonly finished_at: Date | null;
}

export function outcomeOf(chainId: number, row: OutcomeRow): ClaimOutcome {
  const { state, is_paid, scheme, method, asset, pay_to, amount, claimed_at } = row;
  if (OVER.has(state)) return 'over';
  if (!is_paid) return 'waiting';
  // A row that the ledger made again after a loss does not hold the payment.
  if (scheme === null || asset === null || pay_to === null || amount === null) return 'over';
  return {
    chainId,
    payTo: hexOf(pay_to),
    scheme,
    method: method ?? '',
    asset: hexOf(asset),
    amount: BigInt(amount),
    isWorthless: BigInt(row.settled_amount ?? amount) === 0n,
    claimedAt: claimed_at,
    paidAt: row.included_at ?? row.finished_at ?? claimed_at,
  };
}
