-- When the URL of a webhook answered its challenge. Those that were made before there was one count as confirmed.
alter table x402.webhook_endpoints add column confirmed_at timestamptz default now();
alter table x402.webhook_endpoints alter column confirmed_at drop default;
