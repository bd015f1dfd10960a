-- An index of the granules with items of the last day. The owner of a partition reads their names when it starts.
-- Older parts are not rewritten, so reads scan them completely until they are merged.
ALTER TABLE billing ADD INDEX IF NOT EXISTS received received_at TYPE minmax GRANULARITY 1;
