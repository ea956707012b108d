import type { Address, Hex } from 'viem';
import type { SettlementDetails, SettlementView } from '../../model/settlement.js';

/** A settlement that is on its way: its record is whole. */
export interface LiveSettlement {
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

/** All that the ledger knows of one claim. {@link SettlementStatus} is what anyone may see of it. */
export type Settlement = LiveSettlement | EndedSettlement;

/**
 * Everything that people and programs ask about settlements. It changes nothing, and what one settlement
 * shows was so at one moment.
 *
 * @throws RedisUnavailableError from every method.
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
}
