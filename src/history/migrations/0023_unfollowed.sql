-- Settlements in a block whose ledger is lost: found by their epoch, long before their deadline.
create index settlements_included on x402.settlements (chain_id, epoch) where state = 'included';
