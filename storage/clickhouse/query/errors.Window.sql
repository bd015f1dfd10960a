-- Who met which issue when within a window, how often: rows of (at, root, user, occurred). Part
-- of other queries. Key: environment, slot; the edges find their granules by the index times.
SELECT
    toUInt32(slot) AS at,
    transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root,
    user,
    events AS occurred
FROM issue_users
WHERE environment = {environment:UInt64} AND slot >= {whole_from:DateTime('UTC')} AND slot < {whole_to:DateTime('UTC')}
UNION ALL
SELECT
    toUInt32(toUnixTimestamp(ts)) AS at,
    transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root,
    if(distinct_id = '' AND anonymous_id = '', 0, cityHash64(if(distinct_id != '', distinct_id, anonymous_id))) AS user,
    toUInt64(1) AS occurred
FROM occurrences
WHERE environment = {environment:UInt64} AND $(window.Edges)
