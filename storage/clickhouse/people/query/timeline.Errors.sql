-- A page of the errors that affected a person, newest first. Key: environment, ts of issue_users, whose narrow rows
-- name the issues and the instants; then environment, issue, ts. Rows returned: at most limit.
SELECT id, toUnixTimestamp64Milli(ts), issue, level, name, substringUTF8(message, 1, 300), culprit, url, release, handled
FROM occurrences
WHERE environment = {environment:UInt64}
    AND (issue, ts) IN
    (
        SELECT issue, ts
        FROM issue_users
        WHERE environment = {environment:UInt64} AND user IN {visitors:Array(UInt64)} AND ts <= fromUnixTimestamp64Milli({before_ms:Int64}, 'UTC')
        ORDER BY ts DESC
        LIMIT {scanned:UInt32}
    )
    AND arrayExists((v, from_ms, to_ms) -> v = visitor AND toUnixTimestamp64Milli(ts) >= from_ms AND toUnixTimestamp64Milli(ts) < to_ms,
        {visitors:Array(UInt64)}, {from:Array(Int64)}, {until:Array(Int64)})
    AND (toUnixTimestamp64Milli(ts) < {before_ms:Int64} OR toUnixTimestamp64Milli(ts) = {before_ms:Int64} AND id < {before_id:String})
ORDER BY ts DESC, id DESC
LIMIT {limit:UInt32}
