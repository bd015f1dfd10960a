-- What was decided about the issues of an environment that anybody touched. Part of other
-- queries. Key: owner, whose names begin with the kind and the environment. An issue that is
-- ignored until a time is open from then on.
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
