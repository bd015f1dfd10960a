-- Removes the database of a copy. No table is read.
DROP DATABASE IF EXISTS {database:Identifier} SYNC
