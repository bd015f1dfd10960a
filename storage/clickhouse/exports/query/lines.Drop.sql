-- Removes a file, which is a partition. Its name is part of the text, since the engine accepts no parameter there.
ALTER TABLE export_rows DROP PARTITION '$(file)'
