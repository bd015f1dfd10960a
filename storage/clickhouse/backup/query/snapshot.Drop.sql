-- Removes a snapshot. No table is read.
DROP DATABASE IF EXISTS {snapshot:Identifier} SYNC
