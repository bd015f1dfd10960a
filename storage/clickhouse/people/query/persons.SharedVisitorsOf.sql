-- persons.SharedVisitors for the case that they are given. Key: the key of persons.Given. Part of other queries.
SELECT visitor
FROM ($(persons.SharedOf))
