-- The approximate number of rows of visitors, and of links and aliases. Key: environment of profiles, links and roots.
-- Rows read: one per visitor or more, and one per link and alias; returned: one.
SELECT
    (SELECT count() FROM profiles WHERE environment = {environment:UInt64}),
    (SELECT count() FROM links WHERE environment = {environment:UInt64} AND anonymous != known) + (SELECT count() FROM roots WHERE environment = {environment:UInt64})
