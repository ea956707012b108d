-- Which month a settlement lies in: a look-up by id or by authorization reads one partition.
create table x402.settlement_ids (
  id bytea primary key,
  chain_id bigint not null,
  authorization_id bytea not null,
  claimed_at timestamptz not null
);
create index settlement_ids_authorization on x402.settlement_ids (authorization_id);
create index settlement_ids_claimed on x402.settlement_ids using brin (claimed_at);

-- One row a claim, as the ledger last knew it. Partitions are made by the archiver, a month each (UTC).
create table x402.settlements (
  id bytea not null,
  claimed_at timestamptz not null,
  chain_id bigint not null,

  -- What orders two states of one claim: the epoch of the ledger, then the entry of its outbox.
  epoch bigint not null,
  version_ms bigint not null,
  version_sequence bigint not null,

  state text not null,
  is_paid boolean not null,
  reason text,
  transaction bytea,
  block_number bigint,
  block_hash bytea,
  log_index integer,
  batch_size integer,

  sale text not null,
  sold_to text,
  sold_key text,
  bound_key text,
  is_told boolean not null,
  is_kept boolean not null,
  is_async boolean not null,

  authorization_id bytea not null,
  terms_tag bytea not null,
  signed_tag bytea not null,

  -- Of the payment; unknown where the ledger made the claim again from the chain, after a loss.
  scheme text,
  method text,
  asset bytea,
  payer bytea,
  pay_to bytea,
  amount numeric(78),
  settled_amount numeric(78),
  authorization_nonce numeric(78),
  deadline numeric(78),
  transactions bytea[],

  arrived_at timestamptz,
  allocated_at timestamptz,
  included_at timestamptz,
  finished_at timestamptz,
  archived_at timestamptz not null default now(),

  primary key (claimed_at, id)
) partition by range (claimed_at);
create index settlements_pay_to on x402.settlements (pay_to, claimed_at desc);

-- Epochs of ledgers in the order in which they were met: a ledger that went back has a higher number.
create table x402.ledger_epochs (
  number bigint generated always as identity primary key,
  chain_id bigint not null,
  epoch text not null,
  met_at timestamptz not null default now(),
  unique (chain_id, epoch)
);

-- Records that could not be made a row of, as they were: none is dropped for that.
create table x402.unreadable_records (
  chain_id bigint not null,
  id text not null,
  epoch bigint not null,
  version_ms bigint not null,
  version_sequence bigint not null,
  record text not null,
  archived_at timestamptz not null default now(),
  primary key (chain_id, id, epoch, version_ms, version_sequence)
);
