-- The order users of issues.Rank.
toInt64(uniqCombined64IfMerge(17)(users))
