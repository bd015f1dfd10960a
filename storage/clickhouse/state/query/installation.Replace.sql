-- Replaces a fact. Key: name, a few rows.
INSERT INTO installation (name, edition, value)
SELECT {name:String}, max(edition) + 1, {value:String} FROM installation WHERE name = {name:String}
