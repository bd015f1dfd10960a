-- What rollups add up to, by the bins of their sketches: what a rollup holds beside them goes with
-- its first bin. Part of metrics.Totals and others.
sumIf(t.count, place = 1) AS observations,
    sumIf(t.sum, place = 1) AS total,
    min(t.min) AS lowest,
    max(t.max) AS highest,
    key,
    sum(n) AS counted
