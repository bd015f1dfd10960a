-- Removes a table or view.
DROP TABLE IF EXISTS {table:Identifier} SYNC
