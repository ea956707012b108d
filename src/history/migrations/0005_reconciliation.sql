-- Reconciliation reads settlements by the block that decided them.
create index settlements_block on x402.settlements (chain_id, block_number)
  where block_number is not null;

-- One row a run and chain. Rows are written once, when a run has come to its end, and never changed.
create table x402.reconciliations (
  id bigint generated always as identity primary key,
  chain_id bigint not null,
  started_by text not null check (started_by in ('daily', 'command')),
  window_from timestamptz not null,
  window_to timestamptz not null,
  -- Missing where the chain could not be asked which blocks they are.
  first_block numeric(20),
  last_block numeric(20),
  last_block_hash bytea,
  settlements bigint not null,
  transactions bigint not null,
  -- By name, all of them: only the first 10 000 are rows.
  counts jsonb not null,
  differences bigint not null,
  started_at timestamptz not null,
  finished_at timestamptz not null
);
create index reconciliations_newest on x402.reconciliations (chain_id, started_by, id desc);

create table x402.reconciliation_differences (
  reconciliation_id bigint not null references x402.reconciliations on delete cascade,
  number integer not null,
  name text not null,
  -- A note is no difference: it changes a balance and is explained.
  is_note boolean not null,
  settlement_id bytea,
  transaction bytea,
  log_index integer,
  block_number numeric(20),
  lane bytea,
  expected text,
  found text,
  primary key (reconciliation_id, number)
);

-- What each lane had at both ends. The next run begins with the end of this one.
create table x402.reconciliation_lanes (
  reconciliation_id bigint not null references x402.reconciliations on delete cascade,
  lane bytea not null,
  nonce_before bigint,
  nonce_after bigint,
  balance_before numeric(78),
  balance_after numeric(78),
  transactions bigint not null,
  fees numeric(78) not null,
  sent numeric(78) not null,
  received numeric(78),
  primary key (reconciliation_id, lane)
);

-- Which process runs the daily reconciliation of a chain now, by the clock of the database.
create table x402.reconciliation_leases (
  chain_id bigint primary key,
  holder text not null,
  until timestamptz not null
);
