-- The order count of issues.Rank.
toInt64(sum(events))
