-- No bins, where no percentile is asked for. Part of metrics.Totals and others.
tuple(CAST([], 'Array(Int16)'), CAST([], 'Array(UInt64)'))
