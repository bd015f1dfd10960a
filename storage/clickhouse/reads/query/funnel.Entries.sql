-- The values of a dimension with which persons entered a funnel, the value of most persons first. A person's value is
-- that of the first event within [from, to) that takes the first step. The persons have eight little-endian bytes
-- each. Key: environment, ts. Rows read: the events of the window; returned: at most limit.
SELECT word, reinterpret(groupArray(person), 'String') AS persons
FROM
(
    SELECT $(person.Hash) AS person, argMin($(value), (ts, id)) AS word
    FROM events
    WHERE environment = {environment:UInt64} AND is_bot <= {bots:UInt8}
        AND ts >= {from:DateTime64(3, 'UTC')} AND ts < {to:DateTime64(3, 'UTC')}
        AND $(steps) != 0
    GROUP BY person
)
GROUP BY word
ORDER BY count() DESC, word
LIMIT {limit:UInt32}
