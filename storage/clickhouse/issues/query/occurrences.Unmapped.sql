-- The reasons why frames of the latest occurrences of an environment were not mapped. Key: environment; the index of
-- times skips older granules. Rows read: the occurrences of a week; returned: at most limit.
SELECT
    JSONExtractString(frame, 'unmapped') AS reason,
    JSONExtractString(frame, 'file') AS file,
    release,
    count() AS frames_of,
    toUnixTimestamp64Milli(max(ts)) AS last_ms
FROM
(
    SELECT arrayJoin(JSONExtractArrayRaw(frames)) AS frame, release, ts
    FROM
    (
        SELECT frames, release, ts
        FROM occurrences
        WHERE environment = {environment:UInt64} AND ts >= {since:DateTime64(3, 'UTC')} AND position(frames, '"unmapped":"') > 0
        ORDER BY ts DESC
        LIMIT {sample:UInt32}
    )
)
WHERE reason != ''
GROUP BY reason, file, release
ORDER BY frames_of DESC, last_ms DESC, reason, file, release
LIMIT {limit:UInt32}
