-- How many events and occurrences of visitors are stored. Key: environment; granules without one of the
-- visitors are skipped. Rows returned: one.
SELECT
    (SELECT count() FROM events WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)}),
    (SELECT count() FROM occurrences WHERE environment = {environment:UInt64} AND visitor IN {visitors:Array(UInt64)})
