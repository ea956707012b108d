-- What sellers sell, as they declared it with payments that were made. One row for each payee and place: nobody's
-- payment changes the row of another payee.
create table x402.catalogue_entries (
  -- Of chain, payee and place.
  id bytea primary key,
  chain_id bigint not null,
  pay_to bytea not null,
  -- Of the resource and the call, the same for every payee that names it.
  place bytea not null,
  -- http, mcp
  type text not null,
  x402_version smallint not null,
  resource text not null,
  example_url text,
  host text not null,
  -- JSON, as it was made of the declaration.
  listing text not null,
  -- Of the claim that brought the listing: an older one does not replace it.
  declared_at timestamptz not null,
  first_paid_at timestamptz not null,
  last_paid_at timestamptz not null,
  -- What is searched for: names and tags, words of the URL, words for people.
  names text not null,
  places text not null,
  words text not null,
  search tsvector not null generated always as (
    setweight(to_tsvector('simple', names), 'A') || setweight(to_tsvector('simple', places), 'B')
      || setweight(to_tsvector('simple', words), 'C')
  ) stored
);
create index catalogue_entries_newest on x402.catalogue_entries (last_paid_at desc, id desc);
create index catalogue_entries_pay_to on x402.catalogue_entries (pay_to, last_paid_at desc, id desc);
create index catalogue_entries_place on x402.catalogue_entries (place);
create index catalogue_entries_resource on x402.catalogue_entries (resource);
create index catalogue_entries_example on x402.catalogue_entries (example_url) where example_url is not null;
create index catalogue_entries_search on x402.catalogue_entries using gin (search);

-- What a place was paid, the newest of each kind.
create table x402.catalogue_offers (
  entry_id bytea not null references x402.catalogue_entries on delete cascade,
  scheme text not null,
  asset bytea not null,
  method text not null,
  amount numeric(78) not null,
  -- JSON: what else the offer said.
  offer text not null,
  paid_at timestamptz not null,
  primary key (entry_id, scheme, asset, method)
);
create index catalogue_offers_asset on x402.catalogue_offers (asset, amount);

-- What was paid and declared and yet is not listed, with the reason; the newest of each place.
create table x402.catalogue_refusals (
  chain_id bigint not null,
  pay_to bytea not null,
  -- Empty where it could not be read.
  resource text not null,
  code text not null,
  path text,
  happened_at timestamptz not null,
  primary key (chain_id, pay_to, resource)
);
create index catalogue_refusals_resource on x402.catalogue_refusals (resource);
create index catalogue_refusals_happened on x402.catalogue_refusals (happened_at);

-- What the operator does not want to list: payees (0x and lower case) and hosts.
create table x402.catalogue_denials (
  kind text not null check (kind in ('payee', 'host')),
  value text not null,
  reason text not null default '',
  created_at timestamptz not null default now(),
  primary key (kind, value)
);

-- Words that are not spelled alike are found where the database has pg_trgm; without it by whole words alone.
do $$
declare
  place text;
begin
  create extension if not exists pg_trgm with schema x402;
  select nspname into place from pg_extension join pg_namespace namespace on namespace.oid = extnamespace
    where extname = 'pg_trgm';
  execute format(
    'create index catalogue_entries_alike on x402.catalogue_entries
      using gin ((names || '' '' || places || '' '' || words) %I.gin_trgm_ops)',
    place
  );
exception
  when others then raise notice 'pg_trgm cannot be used: %', sqlerrm;
end $$;
