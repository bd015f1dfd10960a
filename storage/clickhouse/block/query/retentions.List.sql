-- The retentions of environments in days, except for those that never changed. Key: none; one row for each.
SELECT environment, days
FROM retentions FINAL
