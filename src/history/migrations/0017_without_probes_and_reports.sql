-- Sellers are not asked any more whether they still sell, and nobody reports entries.
drop table x402.catalogue_probes;
drop table x402.catalogue_hosts;
drop table x402.catalogue_reports;
