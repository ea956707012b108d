-- What operators do, and why; not all of it is done to something of one chain.
alter table x402.audit
  alter column chain_id drop not null,
  add column reason text;

-- Id of the API key it was denied by; empty for a row that was written by hand.
alter table x402.catalogue_denials add column denied_by text not null default '';
create index catalogue_denials_newest on x402.catalogue_denials (created_at desc, kind desc, value desc);

-- Hosts of URLs that are not of the web come as they were written: a denial must not be evaded by capitals.
update x402.catalogue_entries set host = lower(host) where host <> lower(host);
create index catalogue_entries_host on x402.catalogue_entries (host, last_paid_at desc, id desc);

-- What anybody has said against an entry. Nobody but operators is shown it.
create table x402.catalogue_reports (
  id bigint generated always as identity primary key,
  -- As it was named then: reports outlive the entry.
  entry_id bytea not null,
  chain_id bigint not null,
  pay_to bytea not null,
  type text not null,
  resource text not null,
  call text not null,
  host text not null,
  kind text not null check (kind in ('not_answering', 'wrong_payee', 'misleading', 'malware', 'other')),
  words text not null,
  reported_at timestamptz not null,
  -- A hash of the client's address and of the day; null once the day is over.
  reporter bytea,
  closed_at timestamptz,
  closed_by text,
  outcome text check (outcome in ('dismissed', 'denied')),
  check ((closed_at is null) = (outcome is null))
);
create unique index catalogue_reports_once on x402.catalogue_reports (reporter, entry_id)
  where reporter is not null;
create index catalogue_reports_open on x402.catalogue_reports (entry_id, reported_at desc)
  where closed_at is null;
create index catalogue_reports_closed on x402.catalogue_reports (closed_at desc, id desc)
  where closed_at is not null;
