-- A page of the issues of an environment in one of their orders, the highest first: only numbers and sort values. Key:
-- environment. Rows read: one per issue and unmerged part, the columns that the order and the condition need;
-- returned: at most limit.
SELECT ranked.root, ranked.value
FROM
(
    SELECT transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue) AS root, $(key) AS value
    FROM issues
    WHERE environment = {environment:UInt64} AND ({release:String} = '' OR root IN
    (
        SELECT transform(issue, {members:Array(UInt64)}, {roots:Array(UInt64)}, issue)
        FROM issue_releases
        WHERE environment = {environment:UInt64} AND release = {release:String}
    ))
    GROUP BY root
    HAVING $(having)
) AS ranked
LEFT JOIN ($(issues.States)) AS states ON states.issue = ranked.root
WHERE ({status:String} = '' OR if(states.status = '', 'open', states.status) = {status:String})
    AND ({first_page:Bool} OR ranked.value < {after_rank:Int64}
        OR (ranked.value = {after_rank:Int64} AND ranked.root < {after_issue:UInt64}))
ORDER BY ranked.value DESC, ranked.root DESC
LIMIT {limit:UInt32}
