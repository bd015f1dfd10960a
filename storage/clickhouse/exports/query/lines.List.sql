-- The lines of a file, in their order. Key: file, piece.
SELECT line
FROM export_rows
WHERE file = {file:String} AND piece IN {pieces:Array(UInt64)}
ORDER BY file, piece, position
