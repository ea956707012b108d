import type { Address, Hex } from 'viem';
import type { BlockRange } from '../../platform/chain/use-search/scan.js';
import type { LaneAccount } from './compare-lane.js';
import type { Finding } from './difference.js';
import type { LaneState, RecordedSettlement } from './records.js';

/** The origin of a run. */
export type StartedBy = 'daily' | 'command';

/** Milliseconds since the epoch; the end is exclusive. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A page of settlements, made of whole blocks. */
export interface BlockPage {
  readonly settlements: readonly RecordedSettlement[];
  /** The last block of the page. */
  readonly to: bigint;
}

/** A position in the order of claim times. */
export interface ClaimPlace {
  readonly claimedAt: Date;
  readonly id: string;
}

export interface ClaimPage {
  readonly settlements: readonly RecordedSettlement[];
  /** Start of the next page; `undefined` on the last page. */
  readonly next: ClaimPlace | undefined;
}

/** The result of one run on one chain. */
export interface Reconciliation {
  readonly chainId: number;
  readonly startedBy: StartedBy;
  readonly window: TimeSpan;
  /** Missing if the chain did not answer. */
  readonly blocks: (BlockRange & { readonly lastHash: Hex }) | undefined;
  readonly settlements: number;
  readonly transactions: number;
  /** Number of all findings by name. The stored findings are limited. */
  readonly counts: ReadonlyMap<string, number>;
  readonly findings: readonly Finding[];
  readonly lanes: readonly LaneAccount[];
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** The end of a run, where the next one starts. */
export interface Checkpoint {
  readonly lastBlock: bigint;
  readonly lastHash: Hex;
  readonly toMs: number;
  readonly lanes: ReadonlyMap<Address, LaneState>;
}

/**
 * The archive as reconciliation reads and writes it.
 *
 * @throws ArchiveError from every method.
 */
export interface SettlementHistory {
  /** Settlements in these blocks: of as many whole blocks as have about `most` settlements. */
  ofBlocks(chainId: number, span: BlockRange, most: number): Promise<BlockPage>;

  /**
   * Settlements without a block that were claimed in the window or in the hour before it, and settlements claimed in
   * the window whose block is before `block`.
   */
  withoutBlock(
    chainId: number,
    claimed: TimeSpan,
    block: bigint,
    after?: ClaimPlace,
  ): Promise<ClaimPage>;

  /** Settlements that one of these transactions carried or paid, in any block. */
  ofTransactions(chainId: number, hashes: readonly Hex[]): Promise<readonly RecordedSettlement[]>;

  /** Lanes from earlier runs. */
  lanes(chainId: number): Promise<readonly Address[]>;

  save(run: Reconciliation): Promise<void>;
}
