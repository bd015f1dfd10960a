-- Creates a database for trial inserts. No table is read.
CREATE DATABASE IF NOT EXISTS {database:Identifier}
