-- A page of the releases of an environment with errors or sessions, the last seen first. An issue began with the
-- release of its first occurrence. Key: environment, release, then environment, issue, and environment, name. Rows
-- read: one per issue of each release, one per issue, and the rollups of one metric; returned: at most limit.
SELECT
    release,
    sum(occurred) AS events,
    sum(met) AS issues,
    sum(began) AS begun_issues,
    sum(started) AS started_sessions,
    sum(crashed) AS crashed_sessions,
    sum(abnormal) AS abnormal_sessions,
    sum(errored) AS errored_sessions,
    min(first_ms) AS release_first,
    max(last_ms) AS release_last
FROM
(
    SELECT
        release,
        sum(occurred) AS occurred,
        count() AS met,
        countIf(first_seen_at = begun) AS began,
        toUInt64(0) AS started, toUInt64(0) AS crashed, toUInt64(0) AS abnormal, toUInt64(0) AS errored,
        toUnixTimestamp64Milli(min(first_seen_at)) AS first_ms,
        toUnixTimestamp64Milli(max(last_seen_at)) AS last_ms
    FROM
    (
        SELECT
            release,
            transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root,
            sum(events) AS occurred,
            min(first_seen) AS first_seen_at,
            max(last_seen) AS last_seen_at
        FROM issue_releases
        WHERE environment = {environment:UInt64} AND release != ''
        GROUP BY release, root
    ) AS occurrences_of
    INNER JOIN
    (
        SELECT transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root, min(first_seen) AS begun
        FROM issues
        WHERE environment = {environment:UInt64}
        GROUP BY root
    ) AS known USING (root)
    GROUP BY release
    UNION ALL
    SELECT
        word AS release,
        toUInt64(0) AS occurred, toUInt64(0) AS met, toUInt64(0) AS began,
        toUInt64(sumIf(total, status = 'started')) AS started,
        toUInt64(sumIf(total, status = 'crashed')) AS crashed,
        toUInt64(sumIf(total, status = 'abnormal')) AS abnormal,
        toUInt64(sumIf(total, status = 'errored')) AS errored,
        toInt64(toUnixTimestamp(min(first_slot))) * 1000 AS first_ms,
        toInt64(toUnixTimestamp(max(last_slot))) * 1000 AS last_ms
    FROM
    (
        SELECT series, sum(sum) AS total, min(slot) AS first_slot, max(slot) AS last_slot
        FROM metric_rollups
        WHERE environment = {environment:UInt64} AND name = {session_metric:String}
        GROUP BY series
    ) AS counted
    INNER JOIN
    (
        SELECT
            series,
            any(label_values[indexOf(label_keys, 'release')]) AS word,
            any(label_values[indexOf(label_keys, 'status')]) AS status
        FROM metric_series
        WHERE environment = {environment:UInt64} AND name = {session_metric:String}
        GROUP BY series
    ) AS labelled USING (series)
    WHERE word != ''
    GROUP BY word
) AS parts
WHERE {search:String} = '' OR positionCaseInsensitiveUTF8(release, {search:String}) > 0
GROUP BY release
HAVING {first_page:Bool} OR release_last < {after_ms:Int64} OR (release_last = {after_ms:Int64} AND release < {after_word:String})
ORDER BY release_last DESC, release DESC
LIMIT {limit:UInt32}
