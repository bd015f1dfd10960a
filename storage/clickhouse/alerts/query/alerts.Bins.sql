-- The bins of a slot's observations (metric.SketchKey), with the number in each bin, the lowest and the highest. Part of
-- alerts.PointSlots.
sumMap($(alerts.Keys), if(empty(t.values), [t.count], t.weights)) AS counted,
    minMap($(alerts.Keys), if(empty(t.values), [t.sum], t.values)) AS lows,
    maxMap($(alerts.Keys), if(empty(t.values), [t.sum], t.values)) AS highs,
    counted.1 AS bin_keys,
    counted.2 AS bin_counts,
    lows.2 AS bin_lows,
    highs.2 AS bin_highs
