import type { Hex } from 'viem';
import {
  type Overdue,
  type RowVersion,
  UNFINISHED,
  type UnfinishedSettlements,
} from '../../../../src/history/lost/unfinished.js';
import { hexOf } from '../../../../src/history/postgres/bytea.js';
import type { SettlementRow } from '../../../../src/history/settlement-row.js';

const isUnfinished = ({ state }: SettlementRow): boolean => UNFINISHED.some((one) => one === state);
const isSameVersion = (a: RowVersion, b: RowVersion): boolean =>
  a.epoch === b.epoch && a.version_ms === b.version_ms && a.version_sequence === b.version_sequence;

/** {@link UnfinishedSettlements} of an archive in memory. */
export class MemoryUnfinished implements UnfinishedSettlements {
  readonly #looks = new Map<string, { readonly again: number; readonly looks: number }>();

  constructor(
    /** By id, base64url. */
    private readonly rows: Map<string, SettlementRow>,
    /** Milliseconds since the epoch. */
    private readonly now: () => number,
  ) {}

  take(chainId: number, overdue: Overdue, most: number): Promise<readonly SettlementRow[]> {
    const due = [...this.rows]
      .filter(([id, row]) => row.chain_id === chainId && this.#isDue(id, row, overdue))
      .sort(([, a], [, b]) => Number(a.deadline) - Number(b.deadline))
      .slice(0, most);
    for (const [id] of due) {
      const looks = this.#looks.get(id)?.looks ?? 0;
      const pause = Math.min(600_000, 20_000 * 2 ** looks);
      this.#looks.set(id, { again: this.now() + pause, looks: looks + 1 });
    }
    return Promise.resolve(due.map(([, row]) => row));
  }

  replace(was: SettlementRow, now: SettlementRow): Promise<boolean> {
    const id = was.id.toString('base64url');
    const known = this.rows.get(id);
    const isStale = known === undefined || !isSameVersion(known, was);
    if (isStale || this.#isCredited(now)) return Promise.resolve(false);
    this.rows.set(id, now);
    return Promise.resolve(true);
  }

  ownTransactions(chainId: number, most: number): Promise<readonly Hex[]> {
    const own = [...this.rows.values()]
      .filter((row) => row.chain_id === chainId && ['included', 'finalized'].includes(row.state))
      .filter(({ block_number }) => block_number !== null)
      .sort((a, b) => Number(b.block_number) - Number(a.block_number))
      .flatMap(({ transaction }) => hexOf(transaction) ?? []);
    return Promise.resolve([...new Set(own.slice(0, most))]);
  }

  #isDue(id: string, row: SettlementRow, { deadline, writtenMs, epoch }: Overdue): boolean {
    if (!isUnfinished(row) || row.deadline === null) return false;
    const isOver = Number(row.deadline) <= deadline;
    const isUnfollowed = row.state === 'included' && row.epoch < epoch;
    if ((!isOver && !isUnfollowed) || row.version_ms > writtenMs) return false;
    return (this.#looks.get(id)?.again ?? 0) <= this.now();
  }

  #isCredited({ id, is_paid, transaction, log_index }: SettlementRow): boolean {
    if (!is_paid || transaction === null || log_index === null) return false;
    return [...this.rows.values()].some(
      (one) =>
        one.is_paid &&
        one.transaction?.equals(transaction) === true &&
        one.log_index === log_index &&
        !one.id.equals(id),
    );
  }
}
