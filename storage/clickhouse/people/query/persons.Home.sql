-- The person of a visitor regardless of time, from its spans l.spans: the person that an alias or a merge ties it to,
-- else the one of its last link. Key: none. Part of other queries.
l.spans[if(l.spans[1].1 = 0, 1, -1)].2
