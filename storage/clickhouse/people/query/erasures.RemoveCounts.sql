-- Removes the counts of names and paths. The statement lists them, because the engine evaluates a subquery of a
-- removal again for each part, after other parts have changed. It lists digests, because the engine stores the text of
-- a removal in a file. Key: environment.
ALTER TABLE event_counts DELETE WHERE environment = {environment:UInt64} AND cityHash64(name, path) IN {digests:Array(UInt64)}
