-- A deposit is money of its payer in escrow, and no settlement of a channel says what reached its receiver: they are no payments.
lock table x402.settlements in share row exclusive mode;

create or replace function x402.counted(settlement x402.settlements, factor integer) returns x402.counted_payment
language sql stable as $$
  select case
    when settlement.is_paid and settlement.state in ('finalized', 'foreign')
      and settlement.scheme is distinct from 'batch-settlement'
      and num_nulls(settlement.asset, settlement.payer, settlement.pay_to, settlement.amount) = 0
    then row(
      factor, settlement.chain_id, settlement.asset, settlement.payer, settlement.pay_to,
      coalesce(settlement.settled_amount, settlement.amount),
      date_trunc('hour', settlement.claimed_at, 'UTC')
    )::x402.counted_payment
  end
$$;

-- Summed again where any were counted: who else paid and was paid is in no sum.
do $$
begin
  if not exists (select from x402.settlements where scheme = 'batch-settlement') then
    return;
  end if;
  delete from x402.payment_sums;
  delete from x402.payment_parties;
  insert into x402.payment_parties (chain_id, asset, role, account, last_hour)
    select chain_id, asset, role, account, max(date_trunc('hour', claimed_at, 'UTC')) from x402.settlements
      cross join lateral (values ('payer', payer), ('payee', pay_to)) party (role, account)
    where is_paid and state in ('finalized', 'foreign') and scheme is distinct from 'batch-settlement'
      and num_nulls(asset, payer, pay_to, amount) = 0
    group by 1, 2, 3, 4;
  insert into x402.payment_sums (chain_id, asset, hour, payments, amount)
    select chain_id, asset, coalesce(hour, '-infinity'), count(*), sum(paid) from (
      select chain_id, asset, date_trunc('hour', claimed_at, 'UTC') as hour, coalesce(settled_amount, amount) as paid
      from x402.settlements
      where is_paid and state in ('finalized', 'foreign') and scheme is distinct from 'batch-settlement'
        and num_nulls(asset, payer, pay_to, amount) = 0
    ) counted group by grouping sets ((chain_id, asset), (chain_id, asset, hour));
  update x402.payment_sums sums set payers = met.payers, payees = met.payees from (
    select chain_id, asset, count(*) filter (where role = 'payer') as payers,
      count(*) filter (where role = 'payee') as payees
    from x402.payment_parties group by 1, 2
  ) met where sums.hour = '-infinity' and sums.chain_id = met.chain_id and sums.asset = met.asset;
end
$$;
