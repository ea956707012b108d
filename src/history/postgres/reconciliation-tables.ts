import type { ColumnType, GeneratedAlways } from 'kysely';

/** A bigint, which the driver returns as text. */
type BigInteger = ColumnType<string, number, number>;

/** The tables of `0005_reconciliation.sql`. Large numbers are text, as the driver returns them. */
export interface ReconciliationTables {
  readonly reconciliations: {
    readonly id: GeneratedAlways<string>;
    readonly chain_id: number;
    readonly started_by: string;
    readonly window_from: Date;
    readonly window_to: Date;
    readonly first_block: string | null;
    readonly last_block: string | null;
    readonly last_block_hash: Buffer | null;
    readonly settlements: BigInteger;
    readonly transactions: BigInteger;
    readonly counts: ColumnType<Readonly<Record<string, number>>, string, string>;
    readonly differences: BigInteger;
    readonly started_at: Date;
    readonly finished_at: Date;
  };
  readonly reconciliation_differences: {
    readonly reconciliation_id: string;
    readonly number: number;
    readonly name: string;
    readonly is_note: boolean;
    readonly settlement_id: Buffer | null;
    readonly transaction: Buffer | null;
    readonly log_index: number | null;
    readonly block_number: string | null;
    readonly lane: Buffer | null;
    readonly expected: string | null;
    readonly found: string | null;
  };
  readonly reconciliation_lanes: {
    readonly reconciliation_id: string;
    readonly lane: Buffer;
    readonly nonce_before: ColumnType<string | null, number | null>;
    readonly nonce_after: ColumnType<string | null, number | null>;
    readonly balance_before: string | null;
    readonly balance_after: string | null;
    readonly transactions: BigInteger;
    readonly fees: string;
    readonly sent: string;
    readonly received: string | null;
  };
  readonly reconciliation_leases: {
    readonly chain_id: number;
    readonly holder: string;
    readonly until: Date;
  };
}
