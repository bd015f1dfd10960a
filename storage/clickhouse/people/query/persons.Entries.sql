-- The entries of the first and of the last visit of visitors. Key: environment, visitor. Rows read: one per visit; returned: one per
-- visitor.
SELECT visitor, $(entry.First), $(entry.Last), $(entry.Place)
FROM ($(entries.Own))
GROUP BY visitor
