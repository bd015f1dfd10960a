-- Removes the ties of an id and of its later numbers. Key: environment. Parts without such a row stay unchanged.
ALTER TABLE links DELETE WHERE environment = {environment:UInt64}
    AND (anonymous IN {nodes:Array(UInt64)} AND known != {visitor:UInt64} OR known IN {nodes:Array(UInt64)} AND anonymous NOT IN {nodes:Array(UInt64)} AND (known != {visitor:UInt64} OR NOT {devices:Bool}));
ALTER TABLE aliases DELETE WHERE environment = {environment:UInt64} AND (low IN {nodes:Array(UInt64)} OR high IN {nodes:Array(UInt64)});
ALTER TABLE roots DELETE WHERE environment = {environment:UInt64} AND visitor IN {nodes:Array(UInt64)}
