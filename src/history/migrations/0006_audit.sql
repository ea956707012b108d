-- What operators did. Rows are added and never changed or taken away, by whatever program: whoever wants to has
-- to take the trigger away first, which needs the rights of the owner of the table.
create table x402.audit (
  id uuid primary key,
  chain_id bigint not null,
  happened_at timestamptz not null,
  -- Id of an API key, never the key.
  actor text not null,
  action text not null,
  subject text not null,
  archived_at timestamptz not null default now()
);
create index audit_happened on x402.audit (happened_at desc);

create function x402.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are only added', tg_table_name using errcode = 'restrict_violation';
end
$$;
create trigger audit_append_only before update or delete on x402.audit
  for each row execute function x402.refuse_change();
create trigger audit_not_emptied before truncate on x402.audit
  for each statement execute function x402.refuse_change();
