-- No observations, for rules without a percentile. Part of alerts.PointSlots.
CAST([], 'Array(Int16)') AS bin_keys,
    CAST([], 'Array(UInt64)') AS bin_counts,
    CAST([], 'Array(Float64)') AS bin_lows,
    CAST([], 'Array(Float64)') AS bin_highs
