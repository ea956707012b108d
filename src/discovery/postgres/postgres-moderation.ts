import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  type Kysely,
  type RawBuilder,
  sql,
  type Transaction,
  type TransactionBuilder,
} from 'kysely';
import { bytesOf, hexOf } from '../../history/postgres/bytea.js';
import { asked } from '../../history/postgres/database.js';
import { InjectTables } from '../../history/postgres/database.module.js';
import type { Tables } from '../../history/postgres/tables.js';
import type { Listing } from '../../protocol/listing/listing.js';
import type {
  Denial,
  DenialFilter,
  DenialKind,
  DenialName,
  ModeratedEntry,
  ModerationFilter,
  ModerationStore,
} from '../operators/moderation-store.js';
import type { CatalogueDatabase } from './catalogue-database.js';
import { isReadable } from './catalogue-search.js';

interface EntryRow {
  readonly id: Buffer;
  readonly chain_id: string;
  readonly pay_to: Buffer;
  readonly host: string;
  readonly listing: string;
  readonly first_paid_at: Date;
  readonly last_paid_at: Date;
  readonly others: string;
  readonly denials: readonly DenialRow[] | null;
}

interface DenialRow {
  readonly kind: DenialKind;
  readonly value: string;
  readonly reason: string;
  readonly denied_by: string;
  readonly created_at: Date | string;
}

/** {@link ModerationStore} in the database of the history. */
@Injectable()
export class PostgresModeration implements ModerationStore {
  constructor(@InjectTables('operators') private readonly db: CatalogueDatabase) {}

  /** Connections of operators are read-only, unless a transaction declares that it writes. */
  #writing(): TransactionBuilder<Tables> {
    return this.db.transaction().setAccessMode('read write');
  }

  async entries(
    { text, payTo, host }: ModerationFilter,
    after: string | undefined,
    most: number,
  ): Promise<readonly ModeratedEntry[] | 'unreadable' | undefined> {
    if (text !== undefined && !(await isReadable(this.db, text))) return 'unreadable';
    const place = after === undefined ? undefined : Buffer.from(after, 'hex');
    if (place !== undefined && !(await asked(hasEntry(this.db, place)))) return undefined;
    const conditions: readonly RawBuilder<unknown>[] = [
      ...(text === undefined ? [] : [sql`search @@ websearch_to_tsquery('simple', ${text})`]),
      ...(payTo === undefined ? [] : [sql`pay_to = ${bytesOf(payTo)}`]),
      ...(host === undefined ? [] : [sql`host = ${host}`]),
      ...(place === undefined
        ? []
        : [
            sql`(last_paid_at, id) < (select last_paid_at, id
              from x402.catalogue_entries where id = ${place})`,
          ]),
    ];
    const { rows } = await asked(
      sql<EntryRow>`
        select id, chain_id, pay_to, host, listing, first_paid_at, last_paid_at,
          (select count(distinct other.pay_to) from x402.catalogue_entries other
            where other.place = entry.place and other.pay_to <> entry.pay_to) as others,
          (select json_agg(json_build_object('kind', kind, 'value', value, 'reason', reason,
              'denied_by', denied_by, 'created_at', created_at) order by kind)
            from x402.catalogue_denials
            where (kind = 'host' and value = entry.host)
              or (kind = 'payee' and value = '0x' || encode(entry.pay_to, 'hex'))) as denials
        from (
          select * from x402.catalogue_entries
          where ${allOf(conditions)}
          order by last_paid_at desc, id desc limit ${most}) entry
        order by last_paid_at desc, id desc`.execute(this.db),
    );
    return rows.map(entryOf);
  }

  async denials(
    { kind, value }: DenialFilter,
    after: DenialName | undefined,
    most: number,
  ): Promise<readonly Denial[] | undefined> {
    if (after !== undefined && (await asked(denialNamed(this.db, after))) === undefined) {
      return undefined;
    }
    const conditions: readonly RawBuilder<unknown>[] = [
      ...(kind === undefined ? [] : [sql`kind = ${kind}`]),
      ...(value === undefined ? [] : [sql`value = ${value}`]),
      // Compared in the database, whose times are more precise than those of this process.
      ...(after === undefined
        ? []
        : [
            sql`(created_at, kind, value) < (select created_at, kind, value
              from x402.catalogue_denials where kind = ${after.kind} and value = ${after.value})`,
          ]),
    ];
    const { rows } = await asked(
      sql<DenialRow>`
        select kind, value, reason, denied_by, created_at from x402.catalogue_denials
        where ${allOf(conditions)}
        order by created_at desc, kind desc, value desc limit ${most}`.execute(this.db),
    );
    return rows.map(denialOf);
  }

  deny(denial: Denial, most: number): Promise<'denied' | 'unchanged' | 'full'> {
    return asked(
      this.#writing().execute(async (transaction) => {
        const { kind, value, reason } = denial;
        const known = await denialNamed(transaction, denial);
        if (known?.reason === reason) return 'unchanged';
        if (known === undefined && (await isFull(transaction, most))) return 'full';
        const fields = { reason, denied_by: denial.by, created_at: denial.at };
        await transaction
          .insertInto('catalogue_denials')
          .values({ kind, value, ...fields })
          .onConflict((conflict) => conflict.columns(['kind', 'value']).doUpdateSet(fields))
          .execute();
        await note(transaction, 'catalogue_denied', denial);
        return 'denied';
      }),
    );
  }

  allow(denial: Denial): Promise<'allowed' | 'unchanged'> {
    return asked(
      this.#writing().execute(async (transaction) => {
        const { numDeletedRows } = await transaction
          .deleteFrom('catalogue_denials')
          .where('kind', '=', denial.kind)
          .where('value', '=', denial.value)
          .executeTakeFirst();
        if (numDeletedRows === 0n) return 'unchanged';
        await note(transaction, 'catalogue_allowed', denial);
        return 'allowed';
      }),
    );
  }
}

function allOf(conditions: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return conditions.length === 0 ? sql`true` : sql.join(conditions, sql` and `);
}

async function hasEntry(db: Kysely<Tables>, id: Buffer): Promise<boolean> {
  const row = await db
    .selectFrom('catalogue_entries')
    .select('id')
    .where('id', '=', id)
    .executeTakeFirst();
  return row !== undefined;
}

async function denialNamed(
  db: Kysely<Tables>,
  { kind, value }: DenialName,
): Promise<DenialRow | undefined> {
  return db
    .selectFrom('catalogue_denials')
    .select(['kind', 'value', 'reason', 'denied_by', 'created_at'])
    .where('kind', '=', kind)
    .where('value', '=', value)
    .executeTakeFirst();
}

async function isFull(transaction: Transaction<Tables>, most: number): Promise<boolean> {
  const { count } = await transaction
    .selectFrom('catalogue_denials')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();
  return Number(count) >= most;
}

/** In the transaction of the action, so that neither exists without the other. */
async function note(
  transaction: Transaction<Tables>,
  action: string,
  { kind, value, reason, by, at }: Denial,
): Promise<void> {
  await transaction
    .insertInto('audit')
    .values({
      id: randomUUID(),
      chain_id: null,
      happened_at: at,
      actor: by,
      action,
      subject: `${kind}:${value}`,
      reason,
    })
    .execute();
}

function entryOf(row: EntryRow): ModeratedEntry {
  return {
    id: row.id.toString('hex'),
    chainId: Number(row.chain_id),
    payTo: hexOf(row.pay_to),
    host: row.host,
    listing: JSON.parse(row.listing) as Listing,
    firstPaidAt: row.first_paid_at,
    lastPaidAt: row.last_paid_at,
    otherPayees: Number(row.others),
    denials: (row.denials ?? []).map(denialOf),
  };
}

/** In JSON the database writes a time as text. */
function denialOf({ kind, value, reason, denied_by, created_at }: DenialRow): Denial {
  return { kind, value, reason, by: denied_by, at: new Date(created_at) };
}
