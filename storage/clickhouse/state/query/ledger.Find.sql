-- The ids of some entries of an organization's ledger. Key: org. Rows: all of the organization. It is asked only where a log of state
-- began again.
SELECT JSONExtractString(entry, 'id') AS id
FROM ledger
WHERE org = {org:String} AND has({ids:Array(String)}, JSONExtractString(entry, 'id'))
