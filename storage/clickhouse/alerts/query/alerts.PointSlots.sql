-- The counts of metrics for rules since an instant, by name and slot, with the blocks of these points from a number
-- on. Key: environment, name, ts. Rows read: one per point; returned: one per name and slot with points.
SELECT word, slot, observations, total, lowest, highest, bin_keys, bin_counts, bin_lows, bin_highs, blocks
FROM
(
    SELECT
        toString(t.name) AS word,
        toInt64(intDiv(toUnixTimestamp(t.ts), {step:UInt32})) AS slot,
        sum(t.count) AS observations,
        sum(t.sum) AS total,
        min(t.min) AS lowest,
        max(t.max) AS highest,
        groupUniqArrayIf(t.block, t.block >= {recent:UInt64}) AS blocks,
        $(bins)
    FROM metric_points AS t
    WHERE environment = {environment:UInt64} AND t.name IN {words:Array(String)} AND t.count > 0 AND ts >= {since:DateTime64(3, 'UTC')}
        AND ({all:Bool} OR series IN ($(metrics.Matching)))
    GROUP BY word, slot
)
ORDER BY word, slot
