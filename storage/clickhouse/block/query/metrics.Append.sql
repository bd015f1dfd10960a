-- One block of metric points. The rows follow in the Native format, with these columns in this order.
INSERT INTO metric_points
(
    environment, name, series, ts, received_at, id, once, count, sum, min, max, values, weights, state, block, expires
)
