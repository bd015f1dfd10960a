-- Creates the database of a copy. No table is read.
CREATE DATABASE IF NOT EXISTS {database:Identifier}
