-- Removes dead letters. The engine stores the text of the statement with the table, so it contains only ids. Key:
-- environment, id.
ALTER TABLE dead_letters DELETE WHERE environment = {environment:UInt64} AND id IN {letters:Array(String)}
