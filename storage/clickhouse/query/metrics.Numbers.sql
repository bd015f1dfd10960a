-- What rollups add up to, without their bins. Part of metrics.Totals and others.
sum(t.count) AS observations,
    sum(t.sum) AS total,
    min(t.min) AS lowest,
    max(t.max) AS highest,
    tuple(CAST([], 'Array(Int16)'), CAST([], 'Array(UInt64)')) AS bins
