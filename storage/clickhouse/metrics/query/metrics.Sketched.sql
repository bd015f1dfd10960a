-- The bins of rollups that contain the percentiles, metric.Percentiles. Part of metrics.Totals and others.
CAST(quantilesExactWeightedArray(0.5, 0.75, 0.9, 0.95, 0.99)(t.sketch.1, t.sketch.2), 'Array(Float64)')
