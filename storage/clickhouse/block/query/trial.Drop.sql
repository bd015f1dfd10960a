-- Removes a database in which rows were tried. No table is read.
DROP DATABASE IF EXISTS {database:Identifier} SYNC
