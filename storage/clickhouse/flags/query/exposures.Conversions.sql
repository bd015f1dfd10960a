-- The number of persons that were served a variant and reached each goal afterwards. Goals are lists of equal length:
-- whether the goal is a path, its text, and whether any suffix matches. Key: environment, time of events; see
-- exposures.Persons. Rows read: the events of the window; returned: variants x goals.
SELECT variant, goal, uniqExact(person) AS persons
FROM
(
    SELECT
        exposed.variant AS variant, exposed.person AS person,
        arrayJoin(arrayFilter(
            i -> if({goal_path:Array(Bool)}[i],
                e.name IN ('page_view', '$pageview') AND if({goal_open:Array(Bool)}[i], startsWith(e.path, {goal_match:Array(String)}[i]), e.path = {goal_match:Array(String)}[i]),
                e.name = {goal_match:Array(String)}[i]),
            arrayEnumerate({goal_match:Array(String)})
        )) AS goal
    FROM
    (
        SELECT if(empty(l.spans), v.visitor, $(persons.At)) AS person, v.name AS name, v.path AS path, v.ts AS ts
        FROM
        (
            SELECT visitor, name, path, ts
            FROM events
            WHERE environment = {environment:UInt64} AND NOT is_bot AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
                AND (name IN {goal_match:Array(String)} OR name IN ('page_view', '$pageview'))
        ) AS v
        LEFT JOIN ($(persons.Links)) AS l ON l.visitor = v.visitor
    ) AS e
    INNER JOIN ($(exposures.Persons)) AS exposed ON exposed.person = e.person
    WHERE e.ts >= exposed.since
)
GROUP BY variant, goal
