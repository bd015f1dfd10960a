-- Whether an event counts for a local day and is of a block that was not read yet. A block stands
-- in the list unless all of it arrived before since. A session goes on behind its day, and an event
-- that comes late may lie some minutes before the beginning of its session. Part of
-- today.Values and today.Marks. Key: environment, ts, and the index received.
environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND ts >= {day_from:DateTime64(3, 'UTC')} - INTERVAL 1 DAY
    AND received_at >= {since:DateTime64(3, 'UTC')} AND NOT has({blocks:Array(UInt64)}, block)
    AND (ts >= {day_from:DateTime64(3, 'UTC')} AND ts < {day_to:DateTime64(3, 'UTC')}
        OR bounce_delta != 0 AND session_started >= {day_from:DateTime64(3, 'UTC')} AND session_started < {day_to:DateTime64(3, 'UTC')})
