-- Like funnel.Entries, if visitors are linked. Key: environment, ts; environment of links and roots. Rows read: the
-- events of the window, and the links; returned: at most limit.
SELECT word, reinterpret(groupArray(person), 'String') AS persons
FROM
(
    SELECT
        if(empty(l.spans), e.visitor, l.spans[greatest(1, arrayCount(span -> span.1 <= e.at, l.spans))].2) AS person,
        argMin(e.word, (e.at, e.id)) AS word
    FROM
    (
        SELECT $(person.Hash) AS visitor, toUnixTimestamp64Milli(ts) AS at, id, $(value) AS word
        FROM events
        WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
            AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
            AND $(steps) != 0
    ) AS e
    LEFT JOIN ($(persons.Links)) AS l ON l.visitor = e.visitor
    GROUP BY person
)
GROUP BY word
ORDER BY count() DESC, word
LIMIT {limit:UInt32}
