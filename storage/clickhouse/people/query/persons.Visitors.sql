-- The visitors of the persons who meet a condition, except shared ones. Key: the key of persons.Folded. Rows read: one
-- per visitor. Part of other queries.
SELECT arrayJoin($(visitors))
FROM ($(folded))
WHERE $(where)
