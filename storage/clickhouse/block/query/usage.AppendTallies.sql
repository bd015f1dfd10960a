-- The tallies of one block. The rows follow in the Native format, with these columns in this order.
INSERT INTO tallies
(
    source, seq, at, block, expires
)
