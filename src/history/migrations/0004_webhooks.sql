-- Where sellers are told of their settlements. Secrets are named here and are not here: the service makes
-- them from these names.
create table x402.webhook_endpoints (
  id text primary key,
  -- Of the API key.
  owner text not null,
  url text not null,
  description text not null,
  payees bytea[] not null,
  event_types text[] not null,
  secret_names text[] not null,
  created_at timestamptz not null default now(),
  -- Since when nothing reached it; null while it is well.
  failing_since timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  -- One process at a time delivers to it.
  leased_by text,
  leased_until timestamptz not null default '-infinity'
);
create index webhook_endpoints_owner on x402.webhook_endpoints (owner, created_at);
create index webhook_endpoints_payees on x402.webhook_endpoints using gin (payees);

-- What happened, as it is told: the very bytes that are signed.
create table x402.webhook_events (
  sequence bigint generated always as identity primary key,
  id text not null unique,
  type text not null,
  -- What is told one after the other: all of a settlement.
  line bytea not null,
  -- Null for what is about an endpoint.
  pay_to bytea,
  body text not null,
  created_at timestamptz not null default now()
);
create index webhook_events_pay_to on x402.webhook_events (pay_to, sequence);
create index webhook_events_created on x402.webhook_events (created_at);

create table x402.webhook_deliveries (
  endpoint_id text not null references x402.webhook_endpoints on delete cascade,
  sequence bigint not null references x402.webhook_events on delete cascade,
  line bytea not null,
  -- waiting, delivered, failed, withheld
  state text not null default 'waiting',
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  tried_at timestamptz,
  status integer,
  problem text,
  answer text,
  primary key (endpoint_id, sequence)
);
create index webhook_deliveries_lines on x402.webhook_deliveries (endpoint_id, line, sequence) where state = 'waiting';
create index webhook_deliveries_due on x402.webhook_deliveries (due_at) where state = 'waiting';
create index webhook_deliveries_events on x402.webhook_deliveries (sequence);
