-- Adds lines of a piece.
INSERT INTO export_rows (file, piece, position, line, expires)
