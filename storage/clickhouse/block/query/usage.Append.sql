-- The counts of the items of one block by their fate. The rows follow in the Native format, with these columns in this
-- order.
INSERT INTO usage
(
    environment, day, signal, fate, code, items, bytes, last, expires
)
