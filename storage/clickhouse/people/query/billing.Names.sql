-- Whether billing names a customer in any item that arrived after an instant. Key: environment; the index of customers skips
-- granules. Rows returned: one.
SELECT count() > 0
FROM billing
WHERE environment = {environment:UInt64} AND customer = {customer:String} AND received_at > {at:DateTime64(3, 'UTC')}
