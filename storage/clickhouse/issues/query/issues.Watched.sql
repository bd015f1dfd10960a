-- The states of the issues of all environments whose occurrences their owners must see. Key:
-- owner, whose names begin with the kind. Rows returned: one per issue that is resolved or merged,
-- or whose regression the alert rules must still hear of.
SELECT owner, payload, version
FROM entities FINAL
WHERE owner >= 'issue/' AND owner < 'issue0' AND kind = 'issue' AND NOT deleted
    AND (JSONExtractString(payload, 'status') = 'resolved' OR JSONExtractString(payload, 'mergedInto') != ''
        OR JSONLength(payload, 'owed') > 0)
ORDER BY owner
