-- Removes the rows of an application that belong to no environment. Key: app.
ALTER TABLE checks DELETE WHERE app IN {apps:Array(String)};
ALTER TABLE source_maps DELETE WHERE app IN {apps:Array(String)}
