-- Lists of a payee that name an asset or a network: what the order of the list does not need is told apart in the
-- index, so that no row is read for nothing. An asset of few settlements was looked for in all rows of the payee.
create index settlements_pay_to_newest_of_asset
  on x402.settlements (pay_to, claimed_at desc, id desc, asset, chain_id);
drop index x402.settlements_pay_to_newest;
