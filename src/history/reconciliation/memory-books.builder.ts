import type { Address } from 'viem';
import type { BookedSettlement } from './books.js';
import type { BlockSpan } from './search-logs.js';
import type { BlockPage, ClaimPage, Reconciliation, SettlementBooks } from './settlement-books.js';

/** {@link SettlementBooks} in memory. */
export class MemoryBooks implements SettlementBooks {
  rows: BookedSettlement[] = [];
  readonly saved: Reconciliation[] = [];
  readonly earlier: Address[] = [];
  /** Called before each read: the archive goes on while it is read. */
  onRead: () => void = () => undefined;

  ofBlocks(_chainId: number, span: BlockSpan, most: number): Promise<BlockPage> {
    this.onRead();
    const inside = this.rows
      .filter(({ blockNumber: at }) => at !== undefined && at >= span.from && at <= span.to)
      .sort((a, b) => Number((a.blockNumber ?? 0n) - (b.blockNumber ?? 0n)));
    const to = inside[most - 1]?.blockNumber ?? span.to;
    const settlements = inside.filter(({ blockNumber }) => (blockNumber ?? 0n) <= to);
    return Promise.resolve({ settlements, to });
  }

  withoutBlock(): Promise<ClaimPage> {
    this.onRead();
    const settlements = this.rows.filter(({ blockNumber }) => blockNumber === undefined);
    return Promise.resolve({ settlements, next: undefined });
  }

  lanes(): Promise<readonly Address[]> {
    return Promise.resolve(this.earlier);
  }

  save(run: Reconciliation): Promise<void> {
    this.saved.push(run);
    return Promise.resolve();
  }
}
