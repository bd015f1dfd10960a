-- How many links were begun because an anonymous id was identified as a further person: devices that people share. Key: none; rows
-- read: one per link. Rows returned: one.
SELECT toUInt64(sum(persons - 1))
FROM
(
    SELECT uniqExactIf(known, known != anonymous) AS persons
    FROM links
    GROUP BY environment, anonymous
    HAVING persons > 1 AND NOT max(known = anonymous)
)
