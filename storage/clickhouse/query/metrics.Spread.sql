-- One row for each bin of a rollup. Adding them up by bucket and bin is several times as fast as
-- adding up maps. Part of metrics.Totals and others.
ARRAY JOIN t.sketch.1 AS key, t.sketch.2 AS n, arrayEnumerate(t.sketch.1) AS place
