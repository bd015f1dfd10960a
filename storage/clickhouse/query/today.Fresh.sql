-- Whether an event is of a local day and of a block that was not read yet. A block stands in
-- the list unless all of it arrived before since. Part of today.Values and today.Marks. Key:
-- environment, ts, and the index received.
environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
    AND ts >= {day_from:DateTime64(3, 'UTC')} AND ts < {day_to:DateTime64(3, 'UTC')}
    AND received_at >= {since:DateTime64(3, 'UTC')} AND NOT has({blocks:Array(UInt64)}, block)
