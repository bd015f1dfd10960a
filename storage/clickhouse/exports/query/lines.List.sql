-- The lines of a file, in order. Key: file, piece.
SELECT line
FROM export_rows
WHERE file = {file:String} AND piece IN {pieces:Array(UInt64)}
ORDER BY file, piece, position
