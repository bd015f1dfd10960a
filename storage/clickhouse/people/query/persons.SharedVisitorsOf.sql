-- persons.SharedVisitors where they are known. Key: that of persons.Given. Part of other queries.
SELECT visitor
FROM ($(persons.SharedOf))
