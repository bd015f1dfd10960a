-- Removes the alias edges and roots of visitors. Key: environment; a part without such a row stays unchanged.
ALTER TABLE aliases DELETE WHERE environment = {environment:UInt64} AND (low IN {visitors:Array(UInt64)} OR high IN {visitors:Array(UInt64)});
ALTER TABLE roots DELETE WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}
