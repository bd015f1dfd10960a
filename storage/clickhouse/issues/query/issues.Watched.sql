-- The states of the issues of all environments with occurrences that their owners must see, in some partitions of the
-- log. Key: owner, which begins with the kind. Rows read: one per issue that ever had a decision; returned: one per
-- issue of the partitions that is resolved or merged, or has a regression that the alert rules must still receive.
SELECT owner, payload, version
FROM entities FINAL
WHERE owner >= 'issue/' AND owner < 'issue0' AND kind = 'issue' AND NOT deleted
    AND JSONExtractUInt(payload, 'issue') % {partitions:UInt32} IN {owned:Array(UInt32)}
    AND (JSONExtractString(payload, 'status') = 'resolved' OR JSONExtractString(payload, 'mergedInto') != ''
        OR JSONLength(payload, 'owed') > 0)
ORDER BY owner
