-- What rules count of a metric since an instant, by slot, with the blocks of it from a number on. Key: environment, name, ts.
-- Rows read: one per point; returned: one per slot that has any.
SELECT slot, observations, total, lowest, highest, bin_keys, bin_counts, bin_lows, bin_highs, blocks
FROM
(
    SELECT
        toInt64(intDiv(toUnixTimestamp(t.ts), {step:UInt32})) AS slot,
        sum(t.count) AS observations,
        sum(t.sum) AS total,
        min(t.min) AS lowest,
        max(t.max) AS highest,
        groupUniqArrayIf(t.block, t.block >= {recent:UInt64}) AS blocks,
        $(bins)
    FROM metric_points AS t
    WHERE environment = {environment:UInt64} AND name = {name:String} AND t.count > 0 AND ts >= {since:DateTime64(3, 'UTC')}
        AND ({all:Bool} OR series IN ($(metrics.Matching)))
    GROUP BY slot
)
ORDER BY slot
