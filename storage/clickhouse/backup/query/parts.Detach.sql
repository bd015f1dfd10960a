-- Moves a part out of a table, into the folder of detached parts. Its rows are not read any more.
ALTER TABLE $(database).$(table) DETACH PART '$(part)'
