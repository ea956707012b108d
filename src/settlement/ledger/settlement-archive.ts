import type { Address, Hex } from 'viem';
import type { RecordedSettlement } from '../model/recorded-settlement.js';

/** A settlement as the archive has it: as the ledger last was when it was read for the archive. */
export interface ArchivedSettlement extends RecordedSettlement {
  readonly chainId: number;
}

/** By what settlements are found that the ledger may not hold any more. */
export type ArchiveQuery =
  | { readonly by: 'id'; readonly chainId: number; readonly ids: readonly string[] }
  | {
      readonly by: 'authorization';
      readonly chainId: number;
      readonly authorizationIds: readonly string[];
    }
  | { readonly by: 'transaction'; readonly chainId: number; readonly transaction: Hex }
  /** Bound to an idempotency key, or sold to it, on any chain; see `keyTagOf`. */
  | { readonly by: 'key'; readonly keyTag: string }
  /** Newest first. */
  | {
      readonly by: 'time';
      readonly chainId: number;
      readonly payer: Address | undefined;
      readonly most: number;
    };

export type ArchiveAnswer =
  | {
      readonly kind: 'found';
      /** Those that were sold first, then paid ones, then the newest. Empty for none. */
      readonly settlements: readonly ArchivedSettlement[];
    }
  /** It cannot be asked now. Says nothing of any settlement. */
  | { readonly kind: 'away' };

/**
 * The archived records of the ledger, read where the ledger does not know a settlement. Answers within a
 * bounded time and never fails: a settle must not depend on it.
 */
export interface SettlementArchive {
  /** Whether there is one: else every answer is that nothing was found. */
  readonly isOn: boolean;
  find(query: ArchiveQuery): Promise<ArchiveAnswer>;
}

/** {@link SettlementArchive} for injection. */
export const SETTLEMENT_ARCHIVE = Symbol('SETTLEMENT_ARCHIVE');

/** Without a history. */
export const NO_ARCHIVE: SettlementArchive = {
  isOn: false,
  find: () => Promise.resolve({ kind: 'found', settlements: [] }),
};
