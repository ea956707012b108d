import { hexOf } from '../../history/postgres/bytea.js';
import type { ClaimOutcome } from '../catalogue.js';

/** Nothing becomes of these any more. */
const OVER: ReadonlySet<string> = new Set(['reverted', 'expired', 'foreign', 'withdrawn']);

/** A row of the history, as far as it says what became of a claim. */
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
  // One that the ledger made again after a loss does not say what was paid.
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
