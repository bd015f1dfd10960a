-- The touch of the latest entry. Part of other queries.
argMax((e.source, e.medium, e.campaign, e.referrer, e.url, e.ms, e.tie), (e.ms, e.tie))
