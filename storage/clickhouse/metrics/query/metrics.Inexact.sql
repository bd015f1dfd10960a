-- No percentiles, where none is asked for. Part of metrics.Points and others.
CAST([], 'Array(Float64)')
