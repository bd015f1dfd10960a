-- The known ids that share an anonymous id, with each other or with whom an alias ties it to. Key: environment of links and roots. Rows read: one
-- per link, twice, and those of persons.Tied. Part of other queries.
SELECT known AS behind
FROM links
WHERE environment = {environment:UInt64} AND anonymous != known AND anonymous IN ($(persons.Sharing))
