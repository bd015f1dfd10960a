-- Removes the counts of names and paths. They are given, since the engine asks a question within a removal again for each part, of which some
-- are removed by then; and as digests, since the engine keeps the text of a removal in a file. Key: environment.
ALTER TABLE event_counts DELETE WHERE environment = {environment:UInt64} AND cityHash64(name, path) IN {digests:Array(UInt64)}
