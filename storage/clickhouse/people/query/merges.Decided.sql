-- The merges of members: visitor and merged person. Key: owner of entities. Rows read: one per activity of people;
-- returned: one per merge.
SELECT toUInt64OrZero(splitByChar('/', owner)[2]) AS environment, toUInt64OrZero(splitByChar('/', owner)[3]) AS visitor, JSONExtractString(payload, 'merged') AS merged, JSONExtractString(payload, 'at') AS at
FROM entities FINAL
WHERE owner >= 'person/' AND owner < 'person0' AND kind = 'activity' AND NOT deleted AND JSONExtractString(payload, 'kind') = 'merge'
