-- No percentiles, for queries without them. Part of metrics.Points and others.
CAST([], 'Array(Float64)')
