-- The persons who meet a condition, with their visitors that nobody shares. Key: that of persons.Folded. Rows read: one per visitor;
-- returned: at most limit.
SELECT person, $(visitors)
FROM ($(folded))
WHERE $(where)
LIMIT {limit:UInt32}
