-- The words of entries, each once. One that is spelled wrong is looked for among these: to compare it with the texts of all
-- entries took seconds.
create table x402.catalogue_words (
  word text primary key,
  -- When it was last said, or found to be still there.
  seen_at timestamptz not null default now()
);
create index catalogue_words_seen on x402.catalogue_words (seen_at);

create function x402.note_catalogue_words() returns trigger language plpgsql as $$
begin
  -- In order: two that write at once wait for each other, and not both for ever.
  insert into x402.catalogue_words (word)
    select word from unnest(tsvector_to_array(new.search)) word
    where length(word) between 3 and 64 and word !~ '^[0-9]+$' order by word
    on conflict do nothing;
  return null;
end $$;
create trigger catalogue_entries_words after insert or update of names, places, words on x402.catalogue_entries
  for each row execute function x402.note_catalogue_words();

insert into x402.catalogue_words (word)
  select distinct word from x402.catalogue_entries, unnest(tsvector_to_array(search)) word
  where length(word) between 3 and 64 and word !~ '^[0-9]+$';

drop index if exists x402.catalogue_entries_alike;
do $$
declare
  place text;
begin
  select nspname into place from pg_extension join pg_namespace namespace on namespace.oid = extnamespace
    where extname = 'pg_trgm';
  if place is not null then
    execute format('create index catalogue_words_alike on x402.catalogue_words using gin (word %I.gin_trgm_ops)', place);
  end if;
exception
  when others then raise notice 'pg_trgm cannot be used: %', sqlerrm;
end $$;

-- What filters ask for is told apart in the index, in the order of the list: no row is read for nothing.
drop index x402.catalogue_entries_best;
create index catalogue_entries_best on x402.catalogue_entries
  (score desc, last_paid_at desc, id desc, type, chain_id, x402_version, pay_to, host);

-- Every rating writes an entry anew. What gathers beside the index is read by each search, and sorted in by some.
alter index x402.catalogue_entries_search set (fastupdate = off);
select gin_clean_pending_list('x402.catalogue_entries_search');
