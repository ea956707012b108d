-- What payees have signed about their entries, the newest of each. It outlives the entry: a place that its payee has
-- taken back is not listed by the next payment, and no statement is good twice.
create table x402.catalogue_statements (
  entry_id bytea primary key,
  chain_id bigint not null,
  pay_to bytea not null,
  resource text not null,
  call text not null,
  action text not null check (action in ('remove', 'correct', 'restore')),
  -- JSON: what stands instead of the words that were declared.
  words text not null,
  -- As signed: a later statement has to have a later one.
  issued_at timestamptz not null,
  -- Null where it ends with the next statement alone.
  ends_at timestamptz,
  accepted_at timestamptz not null default now()
);
create index catalogue_statements_resource on x402.catalogue_statements (resource);
