-- The bins of a set of rollups. Part of metrics.Totals and others.
sumMap(sketch)
