-- The place of the latest entry. Part of other queries.
argMax((e.country, e.region, e.city, e.device, e.browser, e.os, e.ms, e.tie), (e.ms, e.tie))
