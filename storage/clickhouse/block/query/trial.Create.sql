-- Makes a database in which rows are tried. No table is read.
CREATE DATABASE IF NOT EXISTS {database:Identifier}
