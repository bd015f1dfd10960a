-- The ids of some entries of an organization's ledger. Key: org. Rows: all rows of the organization. It runs only if a
-- log of state began again.
SELECT JSONExtractString(entry, 'id') AS id
FROM ledger
WHERE org = {org:String} AND has({ids:Array(String)}, JSONExtractString(entry, 'id'))
