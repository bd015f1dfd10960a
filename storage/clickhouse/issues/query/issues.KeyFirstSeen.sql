-- The order first_seen of issues.Rank.
toInt64(toUnixTimestamp64Milli(min(first_seen)))
