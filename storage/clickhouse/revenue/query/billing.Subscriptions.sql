-- All billing items of some subscriptions. Key: environment, kind, subject. Rows read: the granules around the
-- returned rows.
SELECT
    toString(kind), subject, id, ts, received_at, seq, customer, toString(plan), toString(status), toString(currency), cents,
    change_ms, change_cents, trial_end, ended, toString(target), rate
FROM billing
WHERE environment = {environment:UInt64} AND kind = 'subscription' AND subject IN {subjects:Array(String)}
ORDER BY kind, subject
