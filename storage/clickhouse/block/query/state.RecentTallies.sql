-- The last tally of each source that made one since an instant, without the tallies of one block. Key: none; the table
-- has the tallies of three days. Rows returned: one per source, some per node and start.
SELECT source, max(seq) AS last, max(at) AS made
FROM tallies
WHERE at >= {since:DateTime64(3, 'UTC')} AND block != {block:UInt64}
GROUP BY source
