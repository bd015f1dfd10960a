-- Removes what is noted of ids that were removed from persons. Key: environment; a part without such a row stays.
ALTER TABLE splits DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
