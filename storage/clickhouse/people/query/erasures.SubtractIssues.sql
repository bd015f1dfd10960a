-- Replaces the texts of issues by the texts of their last occurrences of other visitors. If counted is set, it also
-- subtracts the occurrences of visitors from the counts. The deduplication token of the statement makes it happen
-- once. Key: environment, issue; rows read: the occurrences of the issues.
INSERT INTO issues (environment, issue, fingerprint, first_seen, last_seen, events, latest, expires)
SELECT
    environment, issue, any(toString(o.fingerprint)) AS fingerprint, min(ts) AS first_seen, max(ts) AS last_seen,
    toUInt64(0) - if({counted:Bool}, countIf(visitor IN {visitors:Array(UInt64)}), 0) AS events,
    arrayReduce('argMaxState', [(argMaxIf((toString(name), substringUTF8(message, 1, 300), toString(culprit), toString(level)), (ts, id), visitor NOT IN {visitors:Array(UInt64)}))],
        [(max(ts), concat(max(id), '~'))]) AS latest,
    max(o.expires) AS expires
FROM occurrences AS o
WHERE environment = {environment:UInt64}
    AND issue IN (SELECT issue FROM occurrences WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)})
GROUP BY environment, issue
HAVING countIf(visitor NOT IN {visitors:Array(UInt64)}) > 0
