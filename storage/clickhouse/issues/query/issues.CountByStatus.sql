-- The number of issues of an environment by status. Key: environment. Rows read: one per issue and unmerged part, two
-- columns; returned: one per status.
SELECT if(states.status = '', 'open', states.status) AS now, count()
FROM
(
    SELECT DISTINCT transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root
    FROM issues
    WHERE environment = {environment:UInt64}
) AS present
LEFT JOIN ($(issues.States)) AS states ON states.issue = present.root
GROUP BY now
