-- Creates the database of a snapshot. No table is read.
CREATE DATABASE {snapshot:Identifier}
