-- Whose an id is by itself, whatever was done with it at which time, of the spans l.spans of its visitor: the person that an alias or a
-- merge tied it to, else the one whom it was linked to last. Key: none. Part of other queries.
l.spans[if(l.spans[1].1 = 0, 1, -1)].2
