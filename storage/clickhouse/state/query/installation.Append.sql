-- Notes a fact; of one that is noted already the first row stands. Key: none, reads nothing.
INSERT INTO installation (name, edition, value) SELECT {name:String}, 0, {value:String}
