-- The series of a block of metric points. The rows follow in the Native format, with these columns
-- in this order.
INSERT INTO metric_seen
(
    environment, name, series, last_seen, kind, unit, label_keys, label_values, expires
)
