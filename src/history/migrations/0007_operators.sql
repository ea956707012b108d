-- What operators look for over all payees. Nearly all settlements end as finalized: a list of another state finds
-- its few without reading past the many, whoever was to be paid.
create index settlements_state_newest on x402.settlements (state, claimed_at desc, id desc)
  where state <> 'finalized';

-- The life of one settlement: what was told of it, and what reconciliation found of it.
create index webhook_events_line on x402.webhook_events (line, sequence);
create index reconciliation_differences_settlement on x402.reconciliation_differences (settlement_id)
  where settlement_id is not null;

-- The last answer of an endpoint, whatever waits for it.
create index webhook_deliveries_tried on x402.webhook_deliveries (endpoint_id, tried_at desc)
  where tried_at is not null;

-- Actions of operators page by page: the order of the list to its end.
create index audit_newest on x402.audit (happened_at desc, id desc);
drop index x402.audit_happened;
