import type { Address, Hex } from 'viem';

/** The differences between history and chain. `docs/reconciliation.md` has the same list. */
export const DIFFERENCES = {
  settled_without_log:
    'The history says paid; the transaction is missing, or contains no such transfer.',
  log_without_settlement:
    'A transaction of a lane moved tokens or used an authorization without a settlement in the history.',
  log_credited_twice: 'Two settlements name the same transfer.',
  amount_differs: 'The transfer is of another amount.',
  payee_differs: 'The transfer went to another address.',
  payer_differs: 'The transfer came from another address.',
  asset_differs: 'The transfer is of another token.',
  authorization_differs: 'The transaction used another authorization than the history says.',
  log_index_differs: 'The transfer is another log of the transaction.',
  block_differs: 'The transaction is in another block.',
  sender_differs: 'The history says that a lane sent the transaction; another account did.',
  state_differs: 'The history does not say paid; the chain shows the payment.',
  lane_gas_differs: 'The balance of a lane is lower than its transactions explain.',
  lane_nonces_differ: 'The transaction count of a lane does not match its known transactions.',
  lane_sent_native: 'A lane sent native coins to an account that is neither a payer nor a lane.',
  not_checked: 'It could not be read, or the endpoints did not agree: the result is not known.',
} as const;

/** Changes of a balance that are not differences. */
export const NOTES = {
  lane_funded: 'A lane received native coins.',
  lane_refilled: 'A treasury, or a lane, sent native coins to a lane.',
  lane_topped_up_payer: 'A lane sent native coins for the approval of a payer.',
} as const;

export type DifferenceName = keyof typeof DIFFERENCES;
type NoteName = keyof typeof NOTES;

/** One line of the result: name, subject, and the values of both sides. */
export interface Finding {
  readonly name: DifferenceName | NoteName;
  /** Base64url. */
  readonly settlementId?: string | undefined;
  readonly transaction?: Hex | undefined;
  readonly logIndex?: number | undefined;
  readonly blockNumber?: bigint | undefined;
  readonly lane?: Address | undefined;
  /** The value in the history. */
  readonly expected?: string | undefined;
  /** The value on the chain. */
  readonly found?: string | undefined;
}

export function isNote({ name }: Pick<Finding, 'name'>): boolean {
  return name in NOTES;
}

/** Number of differences, without notes. */
export function differencesIn(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const name of Object.keys(DIFFERENCES)) sum += counts.get(name) ?? 0;
  return sum;
}

/** Enough findings to see the cause; one fault can cause many. */
const KEPT_MOST = 10_000;

/** The findings of a run. All are counted, and the first ones are stored. */
export class Findings {
  readonly kept: Finding[] = [];
  readonly counts = new Map<string, number>();
  /** Several settlements may share a transaction; its differences are reported once. */
  readonly #known = new Set<string>();

  add(findings: readonly Finding[]): void {
    for (const one of findings) {
      const name = nameOf(one);
      if (name !== undefined && this.#known.has(name)) continue;
      if (name !== undefined && this.#known.size < KEPT_MOST) this.#known.add(name);
      this.counts.set(one.name, (this.counts.get(one.name) ?? 0) + 1);
      if (this.kept.length < KEPT_MOST) this.kept.push(one);
    }
  }
}

/** @returns `undefined` for a finding that is not about a transaction. */
function nameOf({ name, settlementId, transaction, logIndex }: Finding): string | undefined {
  if (transaction === undefined) return undefined;
  return [name, settlementId ?? '', transaction, logIndex ?? ''].join(' ');
}
