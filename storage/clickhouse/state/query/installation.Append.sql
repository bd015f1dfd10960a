-- Stores a fact. If the fact exists, its first row stays in effect. Key: none, reads nothing.
INSERT INTO installation (name, edition, value) SELECT {name:String}, 0, {value:String}
