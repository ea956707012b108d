import type { Generated, GeneratedAlways } from 'kysely';

/** The tables of `0009_catalogue.sql` and of later migrations. */
export interface CatalogueTables {
  readonly catalogue_entries: {
    readonly id: Buffer;
    readonly chain_id: number;
    readonly pay_to: Buffer;
    readonly place: Buffer;
    readonly type: string;
    readonly x402_version: number;
    readonly resource: string;
    readonly example_url: string | null;
    readonly host: string;
    readonly listing: string;
    readonly declared_at: Date;
    readonly first_paid_at: Date;
    readonly last_paid_at: Date;
    readonly names: string;
    readonly places: string;
    readonly words: string;
    readonly search: GeneratedAlways<string>;
    readonly score: Generated<number>;
    readonly quality: Generated<string | null>;
    readonly rated_at: Generated<Date | null>;
    readonly due_at: Generated<Date>;
  };
  readonly catalogue_calls: {
    readonly settlement_id: Buffer;
    readonly entry_id: Buffer;
    readonly claimed_at: Date;
  };
  readonly catalogue_offers: {
    readonly entry_id: Buffer;
    readonly scheme: string;
    readonly asset: Buffer;
    readonly method: string;
    /** Text, because a number cannot hold it. */
    readonly amount: string;
    readonly offer: string;
    readonly paid_at: Date;
  };
  readonly catalogue_refusals: {
    readonly chain_id: number;
    readonly pay_to: Buffer;
    readonly resource: string;
    readonly is_template: Generated<boolean>;
    readonly code: string;
    readonly path: string | null;
    readonly happened_at: Date;
  };
  readonly catalogue_statements: {
    readonly entry_id: Buffer;
    readonly chain_id: number;
    readonly pay_to: Buffer;
    readonly resource: string;
    readonly is_template: Generated<boolean>;
    readonly call: string;
    readonly action: 'remove' | 'correct' | 'restore';
    readonly words: string;
    readonly issued_at: Date;
    readonly ends_at: Date | null;
    readonly accepted_at: Generated<Date>;
  };
  readonly catalogue_words: {
    readonly word: string;
    readonly seen_at: Generated<Date>;
  };
  readonly catalogue_denials: {
    readonly kind: 'payee' | 'host';
    readonly value: string;
    readonly reason: Generated<string>;
    readonly created_at: Generated<Date>;
    readonly denied_by: Generated<string>;
  };
}
