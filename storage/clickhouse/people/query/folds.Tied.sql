-- The visitors with ties, in either direction. All others are persons by themselves, without further visitors. Key:
-- environment of links and roots. Rows read: one per link and alias. Part of other queries.
SELECT arrayJoin([anonymous, known]) FROM links WHERE environment = {environment:UInt64} AND anonymous != known
UNION ALL
SELECT arrayJoin([visitor, root]) FROM roots WHERE environment = {environment:UInt64}
