-- Some of the visitors with subscriptions. Key: environment and kind of billing. Rows read: one per change of a
-- subscription; returned: at most limit.
SELECT DISTINCT cityHash64(customer) AS visitor
FROM billing
WHERE environment = {environment:UInt64} AND kind = 'subscription' AND customer != ''
LIMIT {limit:UInt32}
