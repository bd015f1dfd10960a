-- Incidents of an owner before an id, newest first; ids sort by the time of their start. Key: owner, kind, id. Rows
-- read: the incidents of the owner.
SELECT payload
FROM entities FINAL
WHERE owner = {owner:String} AND kind = 'incident' AND NOT deleted AND ({name:String} = '' OR id < {name:String})
    AND ({search:String} = '' OR JSONExtractString(payload, 'status') = {search:String})
    AND ({environment:String} = '' OR JSONExtractString(payload, 'environment') = {environment:String})
ORDER BY id DESC
LIMIT {limit:UInt32}
