-- All billing items of an environment after a position, some of them several times, sorted by subject. Key:
-- environment, kind, subject. Rows returned: all items.
SELECT
    toString(kind), subject, id, ts, received_at, seq, customer, toString(plan), toString(status), toString(currency), cents,
    change_ms, change_cents, trial_end, ended, toString(target), rate
FROM billing
WHERE environment = {environment:UInt64} AND (kind, subject) > ({kind:String}, {subject:String})
ORDER BY kind, subject
