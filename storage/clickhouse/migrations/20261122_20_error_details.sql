-- Details that are only shown with a single occurrence. This is a JSON object with the user, the query, the headers
-- and the data of the request, and the parts of the report that were left out. It is empty if there are no details.
ALTER TABLE occurrences ADD COLUMN IF NOT EXISTS details String CODEC(ZSTD(1));
