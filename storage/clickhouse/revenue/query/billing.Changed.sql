-- All billing items of the subjects that an item of some blocks names, sorted by subject. Key: environment, kind,
-- subject. Rows read: the numbers of the blocks of all items, and the granules around the returned rows.
SELECT
    toString(kind), subject, id, ts, received_at, seq, customer, toString(plan), toString(status), toString(currency), cents,
    change_ms, change_cents, trial_end, ended, toString(target), rate
FROM billing
WHERE environment = {environment:UInt64}
    AND (kind, subject) IN (SELECT kind, subject FROM billing WHERE environment = {environment:UInt64} AND block IN {blocks:Array(UInt64)})
ORDER BY kind, subject
