-- The ids that members removed from persons. Key: owner of entities. Rows read: one per activity of people. Rows
-- returned: one per decision.
SELECT toUInt64OrZero(splitByChar('/', owner)[2]) AS environment, payload
FROM entities FINAL
WHERE owner >= 'person/' AND owner < 'person0' AND kind = 'activity' AND NOT deleted AND JSONExtractString(payload, 'kind') = 'split'
