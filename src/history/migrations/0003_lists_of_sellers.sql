-- Lists of a payee, newest first, page by page: the order of the list to its end, so that no page sorts.
create index settlements_pay_to_newest on x402.settlements (pay_to, claimed_at desc, id desc);
drop index x402.settlements_pay_to;

-- Nearly all settlements end as finalized. A list of another state finds its few without reading past the many.
create index settlements_pay_to_state on x402.settlements (pay_to, state, claimed_at desc, id desc)
  where state <> 'finalized';
