-- Removes the rows of an application from a table. Key: app.
ALTER TABLE {table:Identifier} DELETE WHERE app IN {apps:Array(String)}
