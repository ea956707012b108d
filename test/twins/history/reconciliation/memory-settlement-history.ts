import type { Address, Hex } from 'viem';
import {
  hashesOf,
  type RecordedSettlement,
} from '../../../../src/history/reconciliation/records.js';
import type {
  BlockPage,
  ClaimPage,
  ClaimPlace,
  Reconciliation,
  SettlementHistory,
  TimeSpan,
} from '../../../../src/history/reconciliation/settlement-history.js';
import type { BlockRange } from '../../../../src/platform/chain/use-search/scan.js';

/** A settlement, and what most tests need not say of it. */
type MemoryRow = RecordedSettlement & {
  /** Of every chain where it is not given. */
  readonly chainId?: number;
  /** In every time that is asked for where it is not given. */
  readonly claimedAt?: number;
};

const CLAIM_PAGE = 500;
const HOUR_MS = 3_600_000;

/** {@link SettlementHistory} in memory. */
export class MemorySettlementHistory implements SettlementHistory {
  rows: MemoryRow[] = [];
  readonly saved: Reconciliation[] = [];
  readonly earlier: Address[] = [];
  /** Called before each read: the archive goes on while it is read. */
  onRead: () => void = () => undefined;

  ofBlocks(chainId: number, span: BlockRange, most: number): Promise<BlockPage> {
    this.onRead();
    const inside = this.#of(chainId)
      .filter(({ blockNumber: at }) => at !== undefined && at >= span.from && at <= span.to)
      .sort((a, b) => Number((a.blockNumber ?? 0n) - (b.blockNumber ?? 0n)) || byId(a, b));
    const to = inside[most - 1]?.blockNumber ?? span.to;
    const settlements = inside.filter(({ blockNumber }) => (blockNumber ?? 0n) <= to);
    return Promise.resolve({ settlements, to });
  }

  withoutBlock(
    chainId: number,
    { fromMs, toMs }: TimeSpan,
    block: bigint,
    after?: ClaimPlace,
  ): Promise<ClaimPage> {
    this.onRead();
    const found = this.#of(chainId)
      .filter(({ blockNumber, claimedAt }) => {
        if (claimedAt === undefined) return blockNumber === undefined;
        const from = blockNumber === undefined ? fromMs - HOUR_MS : fromMs;
        const isAsked = blockNumber === undefined || blockNumber < block;
        return isAsked && claimedAt >= from && claimedAt < toMs;
      })
      .sort(byClaim)
      .filter((row) => after === undefined || isAfter(row, after));
    const rows = found.slice(0, CLAIM_PAGE);
    const last = rows.length < CLAIM_PAGE ? undefined : rows.at(-1);
    return Promise.resolve({
      settlements: rows,
      next: last && { claimedAt: new Date(last.claimedAt ?? 0), id: last.id },
    });
  }

  ofTransactions(chainId: number, hashes: readonly Hex[]): Promise<readonly RecordedSettlement[]> {
    this.onRead();
    const found = this.#of(chainId).filter((row) =>
      hashesOf(row).some((hash) => hashes.includes(hash)),
    );
    return Promise.resolve(found);
  }

  lanes(chainId: number): Promise<readonly Address[]> {
    const met = this.saved
      .filter((run) => run.chainId === chainId)
      .flatMap(({ lanes }) => lanes.map(({ lane }) => lane));
    return Promise.resolve([...new Set([...this.earlier, ...met])]);
  }

  save(run: Reconciliation): Promise<void> {
    this.saved.push(run);
    return Promise.resolve();
  }

  #of(chainId: number): MemoryRow[] {
    return this.rows.filter((row) => (row.chainId ?? chainId) === chainId);
  }
}

function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return Buffer.compare(Buffer.from(a.id, 'base64url'), Buffer.from(b.id, 'base64url'));
}

function byClaim(a: MemoryRow, b: MemoryRow): number {
  return (a.claimedAt ?? 0) - (b.claimedAt ?? 0) || byId(a, b);
}

function isAfter(row: MemoryRow, { claimedAt, id }: ClaimPlace): boolean {
  const later = (row.claimedAt ?? 0) - claimedAt.getTime();
  return later > 0 || (later === 0 && byId(row, { id }) > 0);
}
