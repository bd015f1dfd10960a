-- Some of the visitors in parts that are newer than some blocks. The materialized profiles of their persons may be
-- outdated. A part that was merged from older and newer ones counts as newer. Key: environment; parts. Rows read: the
-- rows of the newer parts; returned: at most limit.
SELECT DISTINCT visitor
FROM
(
    SELECT visitor FROM profiles WHERE environment = {environment:UInt64} AND toInt64(splitByChar('_', _part)[3]) > {profiles:Int64}
    UNION ALL
    SELECT visitor FROM arrivals WHERE environment = {environment:UInt64} AND toInt64(splitByChar('_', _part)[3]) > {arrivals:Int64}
    UNION ALL
    SELECT visitor FROM entries WHERE environment = {environment:UInt64} AND toInt64(splitByChar('_', _part)[3]) > {entries:Int64}
    UNION ALL
    SELECT visitor FROM traits WHERE environment = {environment:UInt64} AND toInt64(splitByChar('_', _part)[3]) > {traits:Int64}
    UNION ALL
    SELECT arrayJoin([anonymous, known]) AS visitor FROM links WHERE environment = {environment:UInt64} AND toInt64(splitByChar('_', _part)[3]) > {links:Int64}
    UNION ALL
    SELECT arrayJoin([visitor, root]) AS visitor FROM roots WHERE environment = {environment:UInt64} AND toInt64(splitByChar('_', _part)[3]) > {roots:Int64}
    UNION ALL
    SELECT visitor FROM activations WHERE environment = {environment:UInt64} AND toInt64(splitByChar('_', _part)[3]) > {activations:Int64}
)
LIMIT {limit:UInt32}
