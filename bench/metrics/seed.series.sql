-- The series of a metric with their labels: four plans and ten zones.
INSERT INTO metric_seen
(environment, name, series, last_seen, kind, unit, label_keys, label_values, expires)
SELECT
    {environment:UInt64}, {name:String}, number, now64(3), {kind:String}, '', ['plan', 'zone'],
    [['free', 'pro', 'team', 'trial'][number % 4 + 1], concat('zone-', toString(intDiv(number, 4)))], toDate('2099-01-01')
FROM numbers(40)
