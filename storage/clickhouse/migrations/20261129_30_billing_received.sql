-- Which granules hold items of the last day: the owner of a partition reads their names when it begins. Parts from before are not
-- rewritten: they are read whole until they are merged.
ALTER TABLE billing ADD INDEX IF NOT EXISTS received received_at TYPE minmax GRANULARITY 1;
