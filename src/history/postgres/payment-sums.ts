import { Injectable } from '@nestjs/common';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Address } from 'viem';
import { hexOf } from './bytea.js';
import { asked } from './database.js';
import { InjectTables } from './database.module.js';
import type { Tables } from './tables.js';

/** Sums of final payments in a span of time. */
export interface PaymentSum {
  readonly payments: bigint;
  /** Atomic units. */
  readonly amount: bigint;
  /** Number of distinct accounts. */
  readonly payers: bigint;
  readonly payees: bigint;
}

/** The sums of one asset: of all time, and since each of the given moments. */
export interface AssetSums {
  readonly chainId: number;
  readonly asset: Address;
  readonly all: PaymentSum;
  readonly since: readonly PaymentSum[];
}

/** A sum as PostgreSQL returns it: large numbers are text. */
type ReadSum = Readonly<Record<keyof PaymentSum, string | null>>;
interface ReadRow extends ReadSum {
  readonly chain_id: string;
  readonly asset: Buffer;
  readonly since: readonly ReadSum[];
}

/** Reads hourly sums, so that settlements need not be read. */
@Injectable()
export class PaymentSums {
  constructor(@InjectTables('totals') private readonly db: Kysely<Tables>) {}

  /**
   * The assets with the most payments.
   *
   * @param moments - full hours (UTC), milliseconds since 1970.
   * @throws ArchiveError
   */
  async read(moments: readonly number[], most: number): Promise<readonly AssetSums[]> {
    const times = moments.map((moment) => new Date(moment));
    const oldest = new Date(Math.min(...moments));
    const places = moments.map((_, place) => sql.raw(String(place + 1)));
    const windows = places.map(
      (place) => sql`json_build_object(
      'payments', sums.payments[${place}]::text, 'amount', sums.amounts[${place}]::text,
      'payers', parties.payers[${place}]::text, 'payees', parties.payees[${place}]::text)`,
    );
    const each = (value: RawBuilder<unknown>, condition = sql`true`): RawBuilder<unknown> =>
      sql`array[${sql.join(times.map((time) => sql`${value} filter (where at >= ${time} and ${condition})`))}]`;
    const query = sql<ReadRow>`
    with sums as (
      select chain_id, asset, ${each(sql`sum(payments)`)} as payments, ${each(sql`sum(amount)`)} as amounts
      from (select *, hour as at from x402.payment_sums) hours where at >= ${oldest} group by 1, 2
    ), parties as (
      select chain_id, asset, ${each(sql`count(*)`, sql`role = 'payer'`)} as payers,
        ${each(sql`count(*)`, sql`role = 'payee'`)} as payees
      from (select *, last_hour as at from x402.payment_parties) met where at >= ${oldest} group by 1, 2
    )
    select known.chain_id, known.asset, known.payments, known.amount::text as amount, known.payers, known.payees,
      json_build_array(${sql.join(windows)}) as since
    from x402.payment_sums known left join sums using (chain_id, asset) left join parties using (chain_id, asset)
    where known.hour = '-infinity'
    order by known.payments desc, known.chain_id, known.asset limit ${most}`;
    const { rows } = await asked(query.execute(this.db));
    return rows.map((row) => ({
      chainId: Number(row.chain_id),
      asset: hexOf(row.asset),
      all: sumOf(row),
      since: row.since.map(sumOf),
    }));
  }
}

function sumOf({ payments, amount, payers, payees }: ReadSum): PaymentSum {
  return {
    payments: BigInt(payments ?? 0),
    amount: BigInt(amount ?? 0),
    payers: BigInt(payers ?? 0),
    payees: BigInt(payees ?? 0),
  };
}
