-- The persons who meet a condition, with their visitors that are not shared. Key: the key of persons.Folded. Rows
-- read: one per visitor; returned: at most limit.
SELECT person, $(visitors)
FROM ($(folded))
WHERE $(where)
LIMIT {limit:UInt32}
