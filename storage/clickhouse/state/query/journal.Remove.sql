-- Removes records that are in their tables. Key: key.
ALTER TABLE journal DELETE WHERE key IN {keys:Array(String)}
