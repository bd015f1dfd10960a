-- Removes the deliveries of an environment that are older than a number of days, and sets when the others expire. They
-- are on shard 0, regardless of the shard of their environment, and are retained for at most 30 days. Key:
-- environment.
DELETE FROM deliveries WHERE environment = {environment:UInt64} AND toDate(created) + least(30, {days:UInt32}) + 1 <= {today:Date};
ALTER TABLE deliveries UPDATE expires = toDate(created) + least(30, {days:UInt32}) + 1 WHERE environment = {environment:UInt64} AND expires != toDate(created) + least(30, {days:UInt32}) + 1;
