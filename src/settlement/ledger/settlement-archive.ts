import type { Address, Hex } from 'viem';
import type { RecordedSettlement } from '../model/recorded-settlement.js';

/** A settlement in the archive, in its last archived state. */
export interface ArchivedSettlement extends RecordedSettlement {
  readonly chainId: number;
}

/** A look-up of settlements that may have left the ledger. */
export type ArchiveQuery =
  | { readonly by: 'id'; readonly chainId: number; readonly ids: readonly string[] }
  | {
      readonly by: 'authorization';
      readonly chainId: number;
      readonly authorizationIds: readonly string[];
    }
  | { readonly by: 'transaction'; readonly chainId: number; readonly transaction: Hex }
  /** Settlements that an idempotency key is bound to, or was sold to, on any chain; see `keyTagOf`. */
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
      /** Sold settlements first, then paid ones, then the newest. */
      readonly settlements: readonly ArchivedSettlement[];
    }
  /** The archive does not answer. This says nothing about any settlement. */
  | { readonly kind: 'away' };

/**
 * The archive, which is read if the ledger does not know a settlement. It answers within a bounded time and never
 * fails, because settling must not depend on it.
 */
export interface SettlementArchive {
  /** Without an archive, every answer is empty. */
  readonly isOn: boolean;
  find(query: ArchiveQuery): Promise<ArchiveAnswer>;
}

/** Token of {@link SettlementArchive}. */
export const SETTLEMENT_ARCHIVE = Symbol('SETTLEMENT_ARCHIVE');

/** The archive of a deployment without a history. */
export const NO_ARCHIVE: SettlementArchive = {
  isOn: false,
  find: () => Promise.resolve({ kind: 'found', settlements: [] }),
};
