-- A page of summaries of the occurrences of an issue, newest first. Key: environment, issue,
-- ts, read backwards from the keyset. Rows returned: at most limit.
SELECT
    id, toUnixTimestamp64Milli(ts), level, name, message, culprit, handled, release, url,
    person_id, distinct_id, session_id, browser, os, country
FROM occurrences
WHERE environment = {environment:UInt64} AND issue IN {issues:Array(UInt64)}
    AND ({first_page:Bool} OR ts <= {before_ts:DateTime64(3, 'UTC')} AND (ts < {before_ts:DateTime64(3, 'UTC')} OR id < {before_id:String}))
ORDER BY ts DESC, id DESC
LIMIT {limit:UInt32}
