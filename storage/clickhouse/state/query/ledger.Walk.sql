-- The whole ledger of an organization, in order. Key: org. Rows: all rows of the organization.
SELECT entry
FROM ledger FINAL
WHERE org = {org:String}
ORDER BY sequence
