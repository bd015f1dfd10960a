-- The prefilter of a search: visitors with an id or a trait, current or earlier, that contains the text. Key:
-- environment of arrivals and traits. Rows read: one per visitor or more. Part of other queries.
SELECT DISTINCT visitor
FROM
(
    SELECT visitor FROM arrivals WHERE environment = {environment:UInt64} AND positionCaseInsensitiveUTF8($(id), {search:String}) > 0
    UNION ALL
    SELECT visitor FROM traits
    WHERE environment = {environment:UInt64} AND (positionCaseInsensitiveUTF8($(company), {search:String}) > 0
        OR NOT {masked:Bool} AND (positionCaseInsensitiveUTF8(substring(email, 15), {search:String}) > 0 OR positionCaseInsensitiveUTF8(substring(name, 15), {search:String}) > 0))
)
