-- Removes the rows of an environment that are older than a number of days. It removes the rows that retentions.Update
-- would expire, but before the engine does. Key: environment.
DELETE FROM events WHERE environment = {environment:UInt64} AND toDate(ts) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM traffic WHERE environment = {environment:UInt64} AND toDate(slot) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM visits WHERE environment = {environment:UInt64} AND toDate(slot) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM names WHERE environment = {environment:UInt64} AND toDate(slot) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM event_counts WHERE environment = {environment:UInt64} AND toDate(slot) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM occurrences WHERE environment = {environment:UInt64} AND toDate(ts) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM issues WHERE environment = {environment:UInt64} AND toDate(last_seen) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM issue_users WHERE environment = {environment:UInt64} AND toDate(ts) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM issue_releases WHERE environment = {environment:UInt64} AND toDate(last_seen) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM metric_points WHERE environment = {environment:UInt64} AND toDate(ts) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM metric_series WHERE environment = {environment:UInt64} AND toDate(last_seen) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM metric_rollups WHERE environment = {environment:UInt64} AND toDate(slot) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM metric_totals WHERE environment = {environment:UInt64} AND toDate(slot) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM metric_hours WHERE environment = {environment:UInt64} AND toDate(slot) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM profiles WHERE environment = {environment:UInt64} AND toDate(last_seen) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM flag_exposures WHERE environment = {environment:UInt64} AND toDate(first) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM campaign_recipients WHERE environment = {environment:UInt64} AND toDate(started) + {days:UInt32} + 1 <= {today:Date};
DELETE FROM campaign_outcomes WHERE environment = {environment:UInt64} AND toDate(started) + {days:UInt32} + 1 <= {today:Date};
