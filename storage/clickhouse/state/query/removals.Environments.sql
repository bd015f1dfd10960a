-- Removes the rows of environments from a table. Key: environment.
ALTER TABLE {table:Identifier} DELETE WHERE environment IN {environments:Array(UInt64)}
