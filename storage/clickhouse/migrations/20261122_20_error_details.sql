-- What surrounds an occurrence and is shown with it alone: a JSON object of the user, of the
-- request's query, headers and data, and of the parts of the report that were left out; empty
-- where there is none of it.
ALTER TABLE occurrences ADD COLUMN IF NOT EXISTS details String CODEC(ZSTD(1));
