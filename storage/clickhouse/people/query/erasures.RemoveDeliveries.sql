-- Removes the deliveries of conversions of visitors. They are on shard 0, regardless of the shard of their
-- environment. Key: environment; a part without such a row stays unchanged.
ALTER TABLE deliveries DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
