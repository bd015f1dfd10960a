-- A page of the persons of an environment that meet a condition, in descending order of when they were first seen.
-- Key: the key of persons.Folded. Rows read: one per visitor; returned: at most limit.
SELECT person, began
FROM ($(folded))
WHERE ($(where))
    AND ({first_page:Bool} OR began < {after_began:Int64} OR (began = {after_began:Int64} AND person < {after_person:UInt64}))
ORDER BY began DESC, person DESC
LIMIT {limit:UInt32}
