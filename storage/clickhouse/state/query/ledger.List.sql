-- Entries of an organization's ledger before a sequence, the newest first. Key: org, sequence. Rows: those of the page, more
-- where a kind is asked for.
SELECT entry
FROM ledger FINAL
WHERE org = {org:String} AND sequence < {before:UInt64} AND ({kind:String} = '' OR kind = {kind:String})
ORDER BY sequence DESC
LIMIT {limit:UInt32}
