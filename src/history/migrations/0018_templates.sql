-- What is known of a template is found by every URL that it stands for. Null is no template.
drop index x402.catalogue_entries_example;
create index catalogue_entries_templates on x402.catalogue_entries (resource text_pattern_ops)
  where example_url is not null;

alter table x402.catalogue_refusals add column is_template boolean not null default false;
create index catalogue_refusals_templates on x402.catalogue_refusals (resource text_pattern_ops) where is_template;

alter table x402.catalogue_statements add column is_template boolean not null default false;
create index catalogue_statements_templates on x402.catalogue_statements (resource text_pattern_ops) where is_template;
