-- The visitors of the persons who meet a condition, but those whom persons share. Key: that of persons.Folded. Rows
-- read: one per visitor. Part of other queries.
SELECT arrayJoin($(visitors))
FROM ($(folded))
WHERE $(where)
