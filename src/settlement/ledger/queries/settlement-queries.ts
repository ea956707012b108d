import type { Address, Hex } from 'viem';
import type { SettlementDetails, SettlementView } from '../../model/settlement.js';

/** A settlement that is on its way: its record is whole. */
interface LiveSettlement {
  readonly isLive: true;
  readonly view: SettlementView;
  readonly details: SettlementDetails;
}

/** A settlement that has ended: what decides about it outlives the rest. */
export interface EndedSettlement {
  readonly isLive: false;
  readonly view: SettlementView;
  /** Missing once the retention time is over. */
  readonly details: SettlementDetails | undefined;
}

/** A settlement that the ledger does not hold any more, as it was when it was last archived. */
export interface PastSettlement {
  readonly isLive: false;
  readonly isArchived: true;
  readonly view: SettlementView;
  readonly details: SettlementDetails | undefined;
}

/** All that is known of one claim. {@link SettlementStatus} is what anyone may see of it. */
export type Settlement = LiveSettlement | EndedSettlement | PastSettlement;

/** What of one chain is paid, final and was given to no requester within `UNCLAIMED_AFTER_MS`. */
export interface UnclaimedSettlements {
  readonly chainId: number;
  readonly count: number;
  /** Age of the oldest one, in milliseconds; 0 without any. */
  readonly oldestMs: number;
  /** Of the 5000 oldest. */
  readonly sums: readonly UnclaimedSum[];
}

/** In atomic units. */
export interface UnclaimedSum {
  readonly asset: Address;
  readonly count: number;
  readonly amount: bigint;
}

/**
 * Everything that people and programs ask about settlements: of the ledger, and what it does not hold any
 * more of the archive. It changes nothing, and what one settlement shows was so at one moment.
 *
 * @throws RedisUnavailableError from every method; ArchiveUnavailableError where the ledger does not know
 *   a settlement and the archive cannot be asked.
 */
export interface SettlementQueries {
  byId(chainId: number, id: string): Promise<Settlement | undefined>;

  /** The claims of authorizations: those that were sold first, then live ones, then ended ones. */
  claimsOf(chainId: number, authorizationIds: readonly string[]): Promise<readonly Settlement[]>;

  /** What a transaction carries or carried. */
  byTransaction(chainId: number, transaction: Hex): Promise<readonly Settlement[]>;

  /** Newest first; what was refused and is gone since is left out. */
  newest(chainId: number, most: number): Promise<readonly Settlement[]>;

  /** Likewise, of one payer. */
  newestOfPayer(chainId: number, payer: Address, most: number): Promise<readonly Settlement[]>;

  /** How much is unclaimed. */
  unclaimed(chainId: number): Promise<UnclaimedSettlements>;

  /** Unclaimed settlements, newest first. */
  newestUnclaimed(chainId: number, most: number): Promise<readonly Settlement[]>;
}
