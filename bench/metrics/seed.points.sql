-- Points of a metric in 40 series, evenly over a span of time: counters and gauges hold one number, histograms eight
-- observations.
INSERT INTO metric_points
(environment, name, series, ts, received_at, id, once, count, sum, min, max, values, weights, state, block, expires)
SELECT
    {environment:UInt64}, {name:String}, n % 40, ts, ts, '', false,
    if(histogram, 8, 1), if(histogram, arraySum(observed), single), if(histogram, arrayMin(observed), single), if(histogram, arrayMax(observed), single),
    if(histogram, observed, []), if(histogram, arrayMap(v -> toUInt64(1), observed), []), '', 0, toDate('2099-01-01')
FROM
(
    SELECT
        number AS n,
        {kind:String} = 'histogram' AS histogram,
        toFloat64(cityHash64(number) % 10) AS single,
        arrayMap(k -> exp(2 + 4 * (cityHash64(number, k) % 10000) / 10000), range(8)) AS observed,
        fromUnixTimestamp64Milli(toInt64({from_ms:Int64} + intDiv(number, 40) * {step_ms:Float64})) AS ts
    FROM numbers({points:UInt64})
)
