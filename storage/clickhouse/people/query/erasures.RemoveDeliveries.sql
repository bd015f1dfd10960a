-- Removes the deliveries of conversions of visitors. They are on shard 0, wherever their environment lives. Key: environment; a part without
-- such a row stays.
ALTER TABLE deliveries DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
