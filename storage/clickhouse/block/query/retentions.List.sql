-- For how many days the rows of environments are kept where that was changed. Key: none; a row for each.
SELECT environment, days
FROM retentions FINAL
