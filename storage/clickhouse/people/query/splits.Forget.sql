-- Removes the decisions about ids that were removed from persons. Key: environment. Parts without such a row stay
-- unchanged.
ALTER TABLE splits DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
