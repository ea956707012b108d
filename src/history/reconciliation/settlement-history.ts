import type { Address, Hex } from 'viem';
import type { LaneAccount } from './compare-lane.js';
import type { Finding } from './difference.js';
import type { LaneState, RecordedSettlement } from './records.js';
import type { BlockSpan } from './search-logs.js';

/** Who asked for a run. */
export type StartedBy = 'daily' | 'command';

/** Milliseconds since the epoch; the end does not belong to it. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Settlements of whole blocks. */
export interface BlockPage {
  readonly settlements: readonly RecordedSettlement[];
  /** The last block that is in it. */
  readonly to: bigint;
}

/** A place among settlements by the time of their claim. */
export interface ClaimPlace {
  readonly claimedAt: Date;
  readonly id: string;
}

export interface ClaimPage {
  readonly settlements: readonly RecordedSettlement[];
  /** Where the next page begins; `undefined` for the last one. */
  readonly next: ClaimPlace | undefined;
}

/** What one run found on one chain. */
export interface Reconciliation {
  readonly chainId: number;
  readonly startedBy: StartedBy;
  readonly window: TimeSpan;
  /** Missing where the chain could not be asked which they are. */
  readonly blocks: (BlockSpan & { readonly lastHash: Hex }) | undefined;
  readonly settlements: number;
  readonly transactions: number;
  /** Of all findings, by name; those that are kept are bounded. */
  readonly counts: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
  readonly lanes: readonly LaneAccount[];
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** Where a run ended, so that the next one begins there. */
export interface Checkpoint {
  readonly lastBlock: bigint;
  readonly lastHash: Hex;
  readonly toMs: number;
  readonly lanes: ReadonlyMap<Address, LaneState>;
}

/**
 * The archive, as reconciliation reads it, and what it writes.
 *
 * @throws ArchiveError from every method.
 */
export interface SettlementHistory {
  /** Settlements included in these blocks: of as many whole blocks as hold about so many. */
  ofBlocks(chainId: number, span: BlockSpan, most: number): Promise<BlockPage>;

  /**
   * Settlements that are in no block by the books and were claimed in a time, or within the hour before it;
   * and those claimed in that time that are in a block before `block` by the books.
   */
  withoutBlock(
    chainId: number,
    claimed: TimeSpan,
    block: bigint,
    after?: ClaimPlace,
  ): Promise<ClaimPage>;

  /**
   * Settlements that one of these transactions carries or carried, or has paid, whatever block they are in by the
   * books.
   */
  ofTransactions(chainId: number, hashes: readonly Hex[]): Promise<readonly RecordedSettlement[]>;

  /** Lanes that earlier runs have met. */
  lanes(chainId: number): Promise<readonly Address[]>;

  save(run: Reconciliation): Promise<void>;
}
