import type { Hex } from 'viem';
import type { SettlementDetails, SettlementView } from './settlement.js';

/** All that is kept of a claim for ever. */
export interface RecordedSettlement {
  readonly view: SettlementView;
  /** Missing where the ledger made the record without its payment, after a loss. */
  readonly details: SettlementDetails | undefined;
  readonly authorizationId: string;
  /** Success was acknowledged, or a 202 was included. */
  readonly isAcknowledged: boolean;
  /** Two requesters of one key got the answer. */
  readonly isPinned: boolean;
  readonly blockHash: Hex | undefined;
  /** Milliseconds since the epoch, by the clock of Redis. */
  readonly times: {
    readonly claimed: number;
    readonly included: number | undefined;
    readonly finished: number | undefined;
    /** When it had been paid and without a sale for too long. */
    readonly unclaimed?: number | undefined;
  };
}
