-- Whether an event counts for a local day and belongs to a block that was not read yet. The list has every block that
-- was read, except blocks that arrived completely before since. A session continues after its day, and a late event
-- may lie some minutes before the start of its session. Part of today.Values and today.Marks. Key: environment, ts,
-- and the index received.
environment = {environment:UInt64} AND is_bot <= {bots:UInt8} AND ts >= {day_from:DateTime64(3, 'UTC')} - INTERVAL 1 DAY
    AND received_at >= {since:DateTime64(3, 'UTC')} AND NOT has({blocks:Array(UInt64)}, block)
    AND (ts >= {day_from:DateTime64(3, 'UTC')} AND ts < {day_to:DateTime64(3, 'UTC')}
        OR bounce_delta != 0 AND session_started >= {day_from:DateTime64(3, 'UTC')} AND session_started < {day_to:DateTime64(3, 'UTC')})
