-- The last tally of each source, of those that were made since an instant and did not come with one block. Key: none; the
-- table has the tallies of three days. Rows returned: one per source, some per node and start.
SELECT source, max(seq) AS last, max(at) AS made
FROM tallies
WHERE at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64}
GROUP BY source
