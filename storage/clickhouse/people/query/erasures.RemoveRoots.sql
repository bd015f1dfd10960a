-- Removes the root entries of some roots. Key: environment; a part without such a row stays unchanged.
ALTER TABLE roots DELETE WHERE environment = {environment:UInt64} AND root IN {roots:Array(UInt64)}
