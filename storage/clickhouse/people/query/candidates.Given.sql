-- The candidates that a question lists. Key: none.
SELECT arrayJoin({visitors:Array(UInt64)}) AS visitor
