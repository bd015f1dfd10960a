-- The bins of a point's observations (metric.SketchKey). Part of alerts.Bins.
arrayMap(
        v -> toInt16(if(abs(v) < 1e-12, 0, sign(v) * (ceil(log(least(abs(v), 1e30)) / 0.020000666706669543) + 1382))),
        if(empty(t.values), [t.sum], t.values)
    )
