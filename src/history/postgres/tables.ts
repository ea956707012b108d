import type { Generated, GeneratedAlways } from 'kysely';
import type { SettlementRow } from '../settlement-row.js';

/** The tables of `src/history/migrations`, in the schema `x402`. */
export interface Tables {
  readonly settlements: SettlementRow & { readonly archived_at: Generated<Date> };
  readonly settlement_ids: Pick<
    SettlementRow,
    'id' | 'chain_id' | 'authorization_id' | 'claimed_at'
  >;
  readonly ledger_epochs: {
    readonly number: GeneratedAlways<string>;
    readonly chain_id: number;
    readonly epoch: string;
  };
  readonly unreadable_records: {
    readonly chain_id: number;
    readonly id: string;
    readonly epoch: number;
    readonly version_ms: number;
    readonly version_sequence: number;
    readonly record: string;
  };
}

/** Everything of ours is in a schema of its own: the database may be shared. */
export const SCHEMA = 'x402';
