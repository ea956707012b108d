-- What a transaction carries or carried, also one that another has replaced. No list of what is to be added: a
-- look-up would have to read it.
create index settlements_transactions on x402.settlements using gin (transactions) with (fastupdate = off);
-- One that the ledger made again from the chain has no list of transactions.
create index settlements_transaction on x402.settlements (transaction)
  where transaction is not null and transactions is null;

-- What an idempotency key was bound to, and whom it was sold to.
create index settlements_bound_key on x402.settlements (bound_key) where bound_key is not null;
create index settlements_sold_key on x402.settlements (sold_key) where sold_key is not null;

create index settlements_payer on x402.settlements (payer, claimed_at desc);
