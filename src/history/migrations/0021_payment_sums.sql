-- What was paid for good, summed while it is archived: public totals must not read the settlements themselves.
lock table x402.settlements in share row exclusive mode;

-- A row for each hour (UTC) of the claims, and one for all time, which alone counts the parties.
create table x402.payment_sums (
  chain_id bigint not null,
  asset bytea not null,
  -- -infinity for all time.
  hour timestamptz not null,
  payments bigint not null,
  amount numeric not null,
  payers bigint not null default 0,
  payees bigint not null default 0,
  primary key (chain_id, asset, hour)
);
create index payment_sums_hour on x402.payment_sums (hour);

-- Who has paid and been paid, and when last: who did since a moment is who did last after it.
create table x402.payment_parties (
  chain_id bigint not null,
  asset bytea not null,
  role text not null check (role in ('payer', 'payee')),
  account bytea not null,
  last_hour timestamptz not null,
  primary key (chain_id, asset, role, account)
);
create index payment_parties_last_hour on x402.payment_parties (last_hour);

-- A payment that is counted, or with -1 taken out again.
create type x402.counted_payment as (
  factor integer,
  chain_id bigint,
  asset bytea,
  payer bytea,
  pay_to bytea,
  amount numeric,
  hour timestamptz
);

-- Null for what is not paid for good, and for a claim whose payment is not known.
create function x402.counted(settlement x402.settlements, factor integer) returns x402.counted_payment
language sql stable as $$
  select case
    when settlement.is_paid and settlement.state in ('finalized', 'foreign')
      and num_nulls(settlement.asset, settlement.payer, settlement.pay_to, settlement.amount) = 0
    then row(
      factor, settlement.chain_id, settlement.asset, settlement.payer, settlement.pay_to,
      coalesce(settlement.settled_amount, settlement.amount),
      date_trunc('hour', settlement.claimed_at, 'UTC')
    )::x402.counted_payment
  end
$$;

create function x402.count_payments(changes x402.counted_payment[]) returns void language plpgsql as $$
begin
  if changes is null then
    return;
  end if;
  -- Two that write for one chain take its sums one after the other.
  perform pg_advisory_xact_lock(2016694322, hashint8(chain_id))
    from (select distinct chain_id from unnest(changes) order by chain_id) chains;
  with sums as (
    select chain_id, asset, coalesce(hour, '-infinity') as hour,
      sum(factor) as payments, sum(factor * amount) as amount
    from unnest(changes)
    group by grouping sets ((chain_id, asset), (chain_id, asset, hour))
  ), parties as (
    insert into x402.payment_parties as known (chain_id, asset, role, account, last_hour)
    select chain_id, asset, role, account, max(hour) from unnest(changes)
      cross join lateral (values ('payer', payer), ('payee', pay_to)) party (role, account)
    where factor > 0 group by 1, 2, 3, 4
    on conflict (chain_id, asset, role, account) do update set last_hour = excluded.last_hour
      where known.last_hour < excluded.last_hour
    -- Whether the row is a new one.
    returning chain_id, asset, role, xmax = 0 as is_new
  ), met as (
    select chain_id, asset, count(*) filter (where role = 'payer') as payers,
      count(*) filter (where role = 'payee') as payees
    from parties where is_new group by 1, 2
  )
  insert into x402.payment_sums as known
  select chain_id, asset, hour, payments, sums.amount,
    case when hour = '-infinity' then coalesce(payers, 0) else 0 end,
    case when hour = '-infinity' then coalesce(payees, 0) else 0 end
  from sums left join met using (chain_id, asset)
  on conflict (chain_id, asset, hour) do update set
    payments = known.payments + excluded.payments, amount = known.amount + excluded.amount,
    payers = known.payers + excluded.payers, payees = known.payees + excluded.payees;
end
$$;

-- By the rights of who made the tables: a writer of settlements needs none on the sums.
create function x402.count_new_settlements() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform x402.count_payments(array_agg(counted)) from (
    select x402.counted(now_row, 1) as counted from now_rows now_row
  ) changes where (counted).factor is not null;
  return null;
end
$$;

-- A state that is final stays, but for a ledger that went back.
create function x402.count_changed_settlements() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform x402.count_payments(array_agg(counted)) from (
    select change.counted from old_rows old_row join now_rows now_row using (claimed_at, id)
      cross join lateral (values (x402.counted(old_row, -1)), (x402.counted(now_row, 1))) change (counted)
    where (old_row.is_paid, old_row.state, old_row.amount, old_row.settled_amount)
      is distinct from (now_row.is_paid, now_row.state, now_row.amount, now_row.settled_amount)
  ) changes where (counted).factor is not null;
  return null;
end
$$;

create trigger settlements_count_new after insert on x402.settlements
  referencing new table as now_rows for each statement execute function x402.count_new_settlements();
create trigger settlements_count_changed after update on x402.settlements
  referencing old table as old_rows new table as now_rows
  for each statement execute function x402.count_changed_settlements();

-- What was archived before.
insert into x402.payment_parties (chain_id, asset, role, account, last_hour)
  select chain_id, asset, role, account, max(date_trunc('hour', claimed_at, 'UTC')) from x402.settlements
    cross join lateral (values ('payer', payer), ('payee', pay_to)) party (role, account)
  where is_paid and state in ('finalized', 'foreign') and num_nulls(asset, payer, pay_to, amount) = 0
  group by 1, 2, 3, 4;
insert into x402.payment_sums (chain_id, asset, hour, payments, amount)
  select chain_id, asset, coalesce(hour, '-infinity'), count(*), sum(paid) from (
    select chain_id, asset, date_trunc('hour', claimed_at, 'UTC') as hour, coalesce(settled_amount, amount) as paid
    from x402.settlements where is_paid and state in ('finalized', 'foreign') and num_nulls(asset, payer, pay_to, amount) = 0
  ) counted group by grouping sets ((chain_id, asset), (chain_id, asset, hour));
update x402.payment_sums sums set payers = met.payers, payees = met.payees from (
  select chain_id, asset, count(*) filter (where role = 'payer') as payers,
    count(*) filter (where role = 'payee') as payees
  from x402.payment_parties group by 1, 2
) met where sums.hour = '-infinity' and sums.chain_id = met.chain_id and sums.asset = met.asset;
