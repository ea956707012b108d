-- Settlements that have not ended and whose deadline is past: few, but for a ledger that was lost.
create index settlements_unfinished on x402.settlements (chain_id, deadline)
  where state in ('queued', 'broadcast', 'included');

-- When each of them is looked at again. Whoever has put it off has it until then.
create table x402.unfinished_looks (
  id bytea primary key,
  again_at timestamptz not null,
  looks integer not null
);
create index unfinished_looks_again on x402.unfinished_looks (again_at);
