-- Whether an event comes after a keyset in the feed. Part of events.List. The first condition is the one that the
-- primary key can use.
ts <= {before_ts:DateTime64(3, 'UTC')}
AND (ts < {before_ts:DateTime64(3, 'UTC')} OR id < {before_id:String} OR id = {before_id:String} AND cityHash64(visitor, thread, block) < {before_tie:UInt64})
