-- When a payment had been final and without a sale for too long; its seller is told once.
alter table x402.settlements add column unclaimed_at timestamptz;

-- What is paid and not sold: a few among many, of one payee and over all of them.
create index settlements_pay_to_unsold on x402.settlements (pay_to, claimed_at desc, id desc)
  where is_paid and sale = 'open';
create index settlements_unsold_newest on x402.settlements (claimed_at desc, id desc)
  where is_paid and sale = 'open';
