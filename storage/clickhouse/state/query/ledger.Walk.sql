-- The whole ledger of an organization, in its order. Key: org. Rows: all of the organization.
SELECT entry
FROM ledger FINAL
WHERE org = {org:String}
ORDER BY sequence
