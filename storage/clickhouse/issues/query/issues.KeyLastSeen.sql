-- The order last_seen of issues.Rank.
toInt64(toUnixTimestamp64Milli(max(last_seen)))
