-- The last entry of an organization's ledger. Entries that were sealed together share a version, and the highest
-- sequence is the last of them. The highest version comes first, since a former owner may have written a higher
-- sequence that it never acknowledged. Key: org. Rows: the versions of the organization's entries, one entry.
SELECT sequence, version, entry
FROM ledger
WHERE org = {org:String}
ORDER BY version DESC, sequence DESC
LIMIT 1
