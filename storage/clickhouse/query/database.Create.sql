-- Creates the database of the service. No table is read.
CREATE DATABASE IF NOT EXISTS {database:Identifier}
