-- Hosts of entries that are asked whether they still sell. One row is one promise: none is asked twice in an hour,
-- by however many processes.
create table x402.catalogue_hosts (
  host text primary key,
  visited_at timestamptz,
  -- When it may be asked next, and something there is to be asked.
  due_at timestamptz not null,
  -- What its robots.txt says of us (JSON), of which origin, and when it was read.
  robots_origin text,
  robots text,
  robots_at timestamptz
);
create index catalogue_hosts_due on x402.catalogue_hosts (due_at);

-- What an entry answered last, a row for each that was looked at.
create table x402.catalogue_probes (
  entry_id bytea primary key references x402.catalogue_entries on delete cascade,
  host text not null,
  -- Infinity where nothing is asked, because asking could do something.
  due_at timestamptz not null,
  -- Null until it was asked.
  state text,
  -- Of HTTP, where there was an answer.
  status smallint,
  probed_at timestamptz
);
create index catalogue_probes_due on x402.catalogue_probes (host, due_at);
