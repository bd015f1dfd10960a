-- Removes dead letters. The text of the statement stays with the table, so it names no person. Key: environment, id.
ALTER TABLE dead_letters DELETE WHERE environment = {environment:UInt64} AND id IN {letters:Array(String)}
