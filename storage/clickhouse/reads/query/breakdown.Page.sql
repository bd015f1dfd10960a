-- A page of the values of a dimension, ranked, with sums over the buckets of breakdown.Buckets. Key: that of the rows,
-- and the index started. Rows read: the events of the window, and the events that changed a bounce again; returned: at
-- most limit.
SELECT
    value,
    sum(visitors) AS all_visitors,
    sum(pageviews) AS all_pageviews,
    sum(sessions) AS all_sessions,
    sum(bounces) AS all_bounces
FROM
(
    $(breakdown.Buckets)
)
WHERE value != '' AND ({search:String} = '' OR positionCaseInsensitiveUTF8(value, {search:String}) > 0)
GROUP BY value
HAVING {first_page:Bool} OR (-toInt64(all_visitors), -toInt64(all_pageviews), value)
    > (-{after_visitors:Int64}, -{after_pageviews:Int64}, {after_value:String})
ORDER BY all_visitors DESC, all_pageviews DESC, value
LIMIT {limit:UInt32}
