-- How many visitors there were since an instant, and how many page views. Key:
-- environment, ts. Rows read: the events of five minutes; returned: one.
SELECT
    uniqExact(if(distinct_id != '', distinct_id, anonymous_id)) AS visitors,
    countIf(name IN ('page_view', '$pageview')) AS viewed
FROM events
WHERE environment = {environment:UInt64} AND NOT is_bot
    AND ts > {since:DateTime64(3, 'UTC')} AND ts <= {until:DateTime64(3, 'UTC')}
