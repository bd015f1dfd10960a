-- The number of stored rows of a block that has no rows received before an instant. Key: none; the index received
-- skips the granules from before. Rows read: the numbers of the blocks since then; returned: one.
SELECT
    (SELECT count() FROM events WHERE block = {block:UInt64} AND received_at >= {since:DateTime64(3, 'UTC')})
    + (SELECT count() FROM occurrences WHERE block = {block:UInt64} AND received_at >= {since:DateTime64(3, 'UTC')})
    + (SELECT count() FROM metric_points WHERE block = {block:UInt64} AND received_at >= {since:DateTime64(3, 'UTC')}) AS stored
