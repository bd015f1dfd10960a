-- A page of summaries of the occurrences of an issue, newest first. Key: environment, issue, ts, read backwards from
-- the keyset. An id belongs to an issue, and also to a block if it came again after a day. Rows returned: at most
-- limit.
SELECT
    id, toUnixTimestamp64Milli(ts), level, name, message, culprit, handled, release, url,
    distinct_id, anonymous_id, session_id, browser, os, country, cityHash64(issue, block) AS tie
FROM occurrences
WHERE environment = {environment:UInt64} AND issue IN {issues:Array(UInt64)} AND NOT has({hidden:Array(UInt64)}, block)
    AND ({first_page:Bool} OR ts <= {before_ts:DateTime64(3, 'UTC')} AND (ts < {before_ts:DateTime64(3, 'UTC')} OR id < {before_id:String}
        OR id = {before_id:String} AND cityHash64(issue, block) < {before_tie:UInt64}))
ORDER BY ts DESC, id DESC, tie DESC
LIMIT {limit:UInt32}
