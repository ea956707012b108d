import type { Address, Hex } from 'viem';

/** What may be wrong between the books and the chain. `docs/reconciliation.md` has the same list. */
export const DIFFERENCES = {
  settled_without_log:
    'The books say paid; the transaction holds no such transfer, or there is none.',
  log_without_settlement:
    'A transaction of a lane moved tokens or used an authorization for no settlement of the books.',
  log_credited_twice: 'Two settlements name the same transfer.',
  amount_differs: 'The transfer is of another amount.',
  payee_differs: 'The transfer went to another address.',
  payer_differs: 'The transfer came from another address.',
  asset_differs: 'The transfer is of another token.',
  authorization_differs: 'The transaction used another authorization than the books say.',
  log_index_differs: 'The transfer is another log of the transaction.',
  block_differs: 'The transaction is in another block.',
  sender_differs: 'The books call the transaction ours; it was sent by an account that is no lane.',
  state_differs: 'The books do not say paid; the chain shows that it is.',
  lane_gas_differs: 'A lane has less than its transactions leave it.',
  lane_nonces_differ: 'A lane has transactions that its count of transactions does not hold.',
  lane_sent_native: 'A lane sent native coins, and neither to a payer nor to another lane.',
  not_checked: 'Nobody could read it, or the endpoints did not agree: nothing is known of it.',
} as const;

/** What is no difference and still changes a balance. */
export const NOTES = {
  lane_funded: 'A lane received native coins.',
  lane_refilled: 'A treasury, or a lane, sent native coins to a lane.',
  lane_topped_up_payer: 'A lane sent native coins for the approval of a payer.',
} as const;

export type DifferenceName = keyof typeof DIFFERENCES;
type NoteName = keyof typeof NOTES;

/** One line of the result: what it is, of what, and both sides of it. */
export interface Finding {
  readonly name: DifferenceName | NoteName;
  /** Base64url. */
  readonly settlementId?: string | undefined;
  readonly transaction?: Hex | undefined;
  readonly logIndex?: number | undefined;
  readonly blockNumber?: bigint | undefined;
  readonly lane?: Address | undefined;
  /** What the books say. */
  readonly expected?: string | undefined;
  /** What the chain says. */
  readonly found?: string | undefined;
}

export function isNote({ name }: Pick<Finding, 'name'>): boolean {
  return name in NOTES;
}

/** How many there are, notes left aside. */
export function differencesIn(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const name of Object.keys(DIFFERENCES)) sum += counts.get(name) ?? 0;
  return sum;
}
