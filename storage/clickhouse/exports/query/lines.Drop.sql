-- Removes a file: a partition. Its name stands in the text, since the engine takes no parameter there.
ALTER TABLE export_rows DROP PARTITION '$(file)'
