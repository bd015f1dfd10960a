-- The number of issues of an environment that last regressed in each release, and the number that are resolved by it.
-- Key: owner, which begins with the kind and the environment. Rows read: one per issue with a decision; returned: one
-- per release.
SELECT decided.1 AS word, toUInt64(sum(decided.2)) AS resolved, toUInt64(sum(decided.3)) AS regressed
FROM
(
    SELECT arrayJoin(
        [
            (JSONExtractString(payload, 'resolvedInRelease'), JSONExtractString(payload, 'status') = 'resolved', 0),
            (JSONExtractString(payload, 'regressedInRelease'), 0, 1)
        ]) AS decided
    FROM entities FINAL
    WHERE owner >= {owner_from:String} AND owner < {owner_to:String} AND kind = 'issue' AND NOT deleted
)
WHERE word IN {releases:Array(String)}
GROUP BY word
