import type { Generated, GeneratedAlways } from 'kysely';
import type { SettlementRow } from '../settlement-row.js';
import type { CatalogueTables } from './catalogue-tables.js';
import type { ReconciliationTables } from './reconciliation-tables.js';

/**
 * - `waiting`: waits for its first or next attempt.
 * - `failed`: the last attempt failed.
 * - `withheld`: its owner may no longer read settlements of the payee.
 */
export type DeliveryState = 'waiting' | 'delivered' | 'failed' | 'withheld';

/** The tables of `src/history/migrations`, in the schema `x402`. */
export interface Tables extends ReconciliationTables, CatalogueTables {
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
  readonly webhook_endpoints: {
    readonly id: string;
    readonly owner: string;
    readonly url: string;
    readonly description: string;
    readonly payees: Buffer[];
    readonly event_types: string[];
    readonly secret_names: string[];
    readonly created_at: Generated<Date>;
    readonly confirmed_at: Generated<Date | null>;
    readonly failing_since: Generated<Date | null>;
    readonly disabled_at: Generated<Date | null>;
    readonly disabled_reason: Generated<string | null>;
    readonly leased_by: Generated<string | null>;
    readonly leased_until: Generated<Date>;
  };
  readonly webhook_events: {
    /** Text, because a number cannot hold it. */
    readonly sequence: GeneratedAlways<string>;
    readonly id: string;
    readonly type: string;
    readonly line: Buffer;
    readonly pay_to: Buffer | null;
    readonly body: string;
    readonly created_at: Generated<Date>;
  };
  readonly webhook_deliveries: {
    readonly endpoint_id: string;
    readonly sequence: string;
    readonly line: Buffer;
    readonly state: Generated<DeliveryState>;
    readonly attempts: Generated<number>;
    readonly due_at: Generated<Date>;
    readonly tried_at: Generated<Date | null>;
    readonly status: Generated<number | null>;
    readonly problem: Generated<string | null>;
    readonly answer: Generated<string | null>;
  };
  readonly lane_levels: {
    readonly lane: string;
    readonly is_low: boolean;
    readonly changed_at: Generated<Date>;
  };
  readonly unfinished_looks: {
    readonly id: Buffer;
    readonly again_at: Date;
    readonly looks: number;
  };
  readonly audit: {
    readonly id: string;
    /** Null for an action that is not about one chain. */
    readonly chain_id: number | null;
    readonly happened_at: Date;
    readonly actor: string;
    readonly action: string;
    readonly subject: string;
    readonly reason: Generated<string | null>;
  };
}

/** All tables are in their own schema, because other programs may share the database. */
export const SCHEMA = 'x402';
