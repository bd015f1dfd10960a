-- The decided states of the issues of an environment; issues without any decision are missing. Part of other queries.
-- Key: owner, which begins with the kind and the environment. An issue that is ignored until a time is open from then
-- on.
SELECT
    JSONExtract(payload, 'issue', 'UInt64') AS issue,
    multiIf(
        JSONExtractString(payload, 'status') = '', 'open',
        JSONExtractString(payload, 'status') = 'ignored' AND JSONExtractInt(payload, 'ignoreUntilMs') != 0
            AND JSONExtractInt(payload, 'ignoreUntilMs') <= {now_ms:Int64}, 'open',
        JSONExtractString(payload, 'status')) AS status,
    JSONExtractInt(payload, 'regressedMs') AS regressed_ms,
    JSONExtract(payload, 'root', 'UInt64') AS root
FROM entities FINAL
WHERE owner >= {owner_from:String} AND owner < {owner_to:String} AND kind = 'issue' AND NOT deleted
