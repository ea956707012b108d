import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Address } from 'viem';
import { type SandboxPostgres, startPostgres } from '../../sandbox/postgres.js';
import { connectDatabase, type Database } from '../../src/history/postgres/database.js';
import { migrate } from '../../src/history/postgres/migrator.js';
import { PaymentSums } from '../../src/history/postgres/payment-sums.js';
import { PostgresArchive } from '../../src/history/postgres/postgres-archive.js';
import { Secret } from '../../src/platform/config/secret.js';
import type { Change } from '../../src/settlement/ledger/outbox.js';
import type { RecordedSettlement } from '../../src/settlement/model/recorded-settlement.js';
import type { SettlementState } from '../../src/settlement/model/settlement.js';
import { aRecorded, CLAIMED_AT } from '../builders/history/recorded-settlement.js';

const HOUR_MS = 3_600_000;
const addressOf = (byte: number): Address => `0x${byte.toString(16).padStart(2, '0').repeat(20)}`;
const DOLLAR = addressOf(0xa1);
const EURO = addressOf(0xa2);

interface Paid {
  readonly name: string;
  readonly state?: SettlementState;
  readonly asset?: Address;
  readonly payer?: number;
  readonly amount?: bigint;
  readonly hoursAgo?: number;
  readonly version?: number;
  readonly more?: Partial<RecordedSettlement>;
}

/** Sums that the database keeps while settlements are archived. */
describe('sums of payments in PostgreSQL', () => {
  let postgres: SandboxPostgres;
  let database: Database;
  let archive: PostgresArchive;
  let epoch: number;

  beforeAll(async () => {
    postgres = await startPostgres();
    database = connectDatabase(new Secret(postgres.url));
  });
  beforeEach(async () => {
    await database.pool.query('drop schema if exists x402 cascade');
    archive = new PostgresArchive(
      database,
      { history: { migrates: true, months: undefined } },
      { now: () => CLAIMED_AT },
    );
    await archive.open();
    epoch = await archive.epochNumber({ chainId: 56, epoch: 'first' });
  });
  afterAll(async () => {
    await database.db.destroy();
    await postgres.stop();
  });

  function change({
    name,
    state = 'finalized',
    asset = DOLLAR,
    payer = 1,
    amount = 100n,
    hoursAgo = 0,
    version = 1,
    more,
  }: Paid): Change {
    const base = aRecorded(name, state, more);
    return {
      kind: 'recorded',
      id: base.view.id,
      version: { ms: 1, sequence: version },
      settlement: {
        ...base,
        details: base.details && {
          ...base.details,
          token: asset,
          payer: addressOf(payer),
          amount,
        },
        times: { ...base.times, claimed: CLAIMED_AT - hoursAgo * HOUR_MS },
      },
    };
  }
  function aDeposit(more: Partial<Paid> = {}): Paid {
    const { details } = aRecorded('deposit', 'finalized');
    if (details === undefined) throw new Error('no details');
    const scheme = 'batch-settlement';
    return { name: 'deposit', ...more, more: { details: { ...details, scheme } } };
  }
  const store = (...paid: readonly Paid[]) => archive.store(56, epoch, paid.map(change));

  /** @returns payments, amount, payers and payees, of all time and of the last day. */
  async function sumsOf(asset = DOLLAR): Promise<readonly string[] | undefined> {
    const since = CLAIMED_AT - (CLAIMED_AT % HOUR_MS) - 24 * HOUR_MS;
    const all = await new PaymentSums(database.db).read([since], 10);
    const found = all.find((one) => one.asset === asset);
    return (
      found &&
      [found.all, ...found.since].map(({ payments, amount, payers, payees }) =>
        [payments, amount, payers, payees].join(' '),
      )
    );
  }

  it('count what is paid for good, each asset apart, and accounts once', async () => {
    await store(
      { name: 'one' },
      { name: 'two', amount: 50n },
      { name: 'other payer', payer: 2, hoursAgo: 30 },
      { name: 'euro', asset: EURO, amount: 7n },
      { name: 'not final', state: 'included' },
      { name: 'failed', state: 'reverted' },
    );
    expect(await sumsOf()).toEqual(['3 250 2 1', '2 150 1 1']);
    expect(await sumsOf(EURO)).toEqual(['1 7 1 1', '1 7 1 1']);
  });

  it('count it once, whenever it becomes final and however often it is archived', async () => {
    await store({ name: 'one', state: 'included' });
    expect(await sumsOf()).toBeUndefined();
    await store({ name: 'one', version: 2 });
    await store({ name: 'one', version: 2 });
    await store({ name: 'one', version: 3 }, { name: 'two' });
    expect(await sumsOf()).toEqual(['2 200 1 1', '2 200 1 1']);
  });

  it('take out what a ledger that went back knows as open again', async () => {
    await store({ name: 'one' }, { name: 'two' });
    epoch = await archive.epochNumber({ chainId: 56, epoch: 'second' });
    await store({ name: 'one', state: 'broadcast' });
    expect(await sumsOf()).toEqual(['1 100 1 1', '1 100 1 1']);
    await store({ name: 'one', version: 2 });
    expect(await sumsOf()).toEqual(['2 200 1 1', '2 200 1 1']);
  });

  it('know when an account paid last', async () => {
    await store({ name: 'one', hoursAgo: 2 });
    await store({ name: 'older', hoursAgo: 40 });
    expect(await sumsOf()).toEqual(['2 200 1 1', '1 100 1 1']);
  });

  it('count what was settled where less was settled than was signed', async () => {
    const { view } = aRecorded('up to', 'finalized');
    await store({ name: 'up to', more: { view: { ...view, settledAmount: 30n } } });
    expect(await sumsOf()).toEqual(['1 30 1 1', '1 30 1 1']);
  });

  it('are kept for a writer that has rights on settlements alone', async () => {
    await store({ name: 'one', state: 'included' });
    const client = await database.pool.connect();
    try {
      await client.query(`
        drop role if exists clerk;
        create role clerk;
        grant usage on schema x402 to clerk;
        grant select, update on x402.settlements to clerk;
        set role clerk`);
      await client.query(`update x402.settlements set state = 'finalized'`);
      await expect(client.query('select * from x402.payment_sums')).rejects.toThrow(
        'permission denied',
      );
      await client.query('reset role');
    } finally {
      client.release(true);
    }
    expect(await sumsOf()).toEqual(['1 100 1 1', '1 100 1 1']);
  });

  it('have no part of channels: a deposit is money of its payer', async () => {
    await store({ name: 'one' }, aDeposit());
    expect(await sumsOf()).toEqual(['1 100 1 1', '1 100 1 1']);
  });

  it('hold what was archived before there were any', async () => {
    await store(
      { name: 'one' },
      { name: 'two', payer: 2, hoursAgo: 50 },
      { name: 'euro', asset: EURO },
      aDeposit(),
    );
    await store({ name: 'open', state: 'included' });
    const before = [await sumsOf(), await sumsOf(EURO)];
    await database.pool.query(`
      drop table x402.payment_sums, x402.payment_parties;
      drop trigger settlements_count_new on x402.settlements;
      drop trigger settlements_count_changed on x402.settlements;
      drop function x402.count_new_settlements, x402.count_changed_settlements, x402.count_payments, x402.counted;
      drop type x402.counted_payment;
      delete from x402.migrations where name like '0021%' or name like '0022%'`);
    expect(await migrate(database.pool)).toEqual([
      '0021_payment_sums.sql',
      '0022_sums_without_channels.sql',
    ]);
    expect([await sumsOf(), await sumsOf(EURO)]).toEqual(before);
    expect(before[0]).toEqual(['2 200 2 1', '1 100 1 1']);
    await store({ name: 'open', version: 2 });
    expect(await sumsOf()).toEqual(['3 300 2 1', '2 200 1 1']);
  });
  it('lose the deposits that were counted before, and those who paid nothing else', async () => {
    await store({ name: 'one' }, { name: 'late', payer: 2, hoursAgo: 50 });
    const deposits = [aDeposit({ payer: 2 }), aDeposit({ name: 'other', payer: 3 })];
    await store(...deposits, aDeposit({ name: 'euro', asset: EURO, payer: 3 }));
    const before = await sumsOf();
    expect(before).toEqual(['2 200 2 1', '1 100 1 1']);
    // As the first version counted them.
    await database.pool.query(`
      delete from x402.migrations where name like '0022%';
      create or replace function x402.counted(settlement x402.settlements, factor integer)
      returns x402.counted_payment language sql stable as $$
        select row(
          factor, settlement.chain_id, settlement.asset, settlement.payer, settlement.pay_to,
          settlement.amount, date_trunc('hour', settlement.claimed_at, 'UTC')
        )::x402.counted_payment
      $$;
      select x402.count_payments(array_agg(x402.counted(settlement, 1)))
      from x402.settlements settlement where scheme = 'batch-settlement'`);
    expect([await sumsOf(), await sumsOf(EURO)]).toEqual([
      ['4 400 3 1', '3 300 3 1'],
      ['1 100 1 1', '1 100 1 1'],
    ]);
    expect(await migrate(database.pool)).toEqual(['0022_sums_without_channels.sql']);
    expect([await sumsOf(), await sumsOf(EURO)]).toEqual([before, undefined]);
    await store(aDeposit({ name: 'after', payer: 4 }), { name: 'next', payer: 4 });
    expect(await sumsOf()).toEqual(['3 300 3 1', '2 200 2 1']);
  });
});
