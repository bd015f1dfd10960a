-- Moves a part of a table into the folder of detached parts. Its rows are no longer read.
ALTER TABLE $(database).$(table) DETACH PART '$(part)'
