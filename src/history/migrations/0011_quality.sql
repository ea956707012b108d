-- Which settlements declared an entry, paid or not: what became of them is in their own rows.
create table x402.catalogue_calls (
  settlement_id bytea primary key,
  entry_id bytea not null references x402.catalogue_entries on delete cascade,
  claimed_at timestamptz not null
);
create index catalogue_calls_entry on x402.catalogue_calls (entry_id, claimed_at desc);

alter table x402.catalogue_entries
  -- What lists are ordered by, in thousandths.
  add column score integer not null default 0,
  -- JSON, as it is shown; null until it was rated.
  add column quality text,
  add column rated_at timestamptz,
  -- When it is to be rated next, or when the process that took it has to have done so.
  add column due_at timestamptz not null default now();
create index catalogue_entries_best on x402.catalogue_entries (score desc, last_paid_at desc, id desc);
create index catalogue_entries_pay_to_best on x402.catalogue_entries (pay_to, score desc, last_paid_at desc, id desc);
drop index x402.catalogue_entries_pay_to;
create index catalogue_entries_due on x402.catalogue_entries (due_at) where due_at < 'infinity';
