-- The touch of the earliest entry. Part of other queries.
argMin((e.source, e.medium, e.campaign, e.referrer, e.url, e.ms, e.tie), (e.ms, e.tie))
