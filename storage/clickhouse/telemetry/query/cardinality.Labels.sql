-- The widest labels of some metrics, with some of their values. Most metrics have one set of keys, so values are
-- counted by set first. Key: environment, name. Rows read: one per series. Of metrics that are not narrow, the query
-- reads the labels of only one in {share} series. These are the first ones, since series are hashes in sort order, so
-- the rest is not read. Returned: at most {labels} of a metric.
SELECT name, key, uniqCombinedMerge(state) AS number, groupUniqArrayArray(5)(values) AS some
FROM
(
    SELECT name, label_keys, uniqCombinedStateForEach(label_values) AS states, groupUniqArrayForEach(5)(label_values) AS samples
    FROM metric_series
    PREWHERE series <= intDiv(18446744073709551615, {share:UInt64}) OR name IN {narrow:Array(String)}
    WHERE environment = {environment:UInt64} AND name IN {names:Array(String)} AND last_seen >= {since:DateTime64(3, 'UTC')}
    GROUP BY name, label_keys
)
ARRAY JOIN label_keys AS key, states AS state, samples AS values
GROUP BY name, key
ORDER BY name, number DESC, key
LIMIT {labels:UInt32} BY name
