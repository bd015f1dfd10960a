-- The percentiles of points, metric.Percentiles. Part of metrics.Points and others.
quantilesExactWeightedArray(0.5, 0.75, 0.9, 0.95, 0.99)(if(empty(values), [sum], values), if(empty(values), [count], weights))
