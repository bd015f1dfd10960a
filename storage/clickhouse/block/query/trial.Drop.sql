-- Removes a database of trial inserts. No table is read.
DROP DATABASE IF EXISTS {database:Identifier} SYNC
