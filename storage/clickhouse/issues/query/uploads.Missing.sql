-- The given pieces of an organization that are not stored. Key: org, sha1.
SELECT arrayJoin({sums:Array(String)}) AS sum
WHERE sum NOT IN
(
    SELECT sha1
    FROM upload_chunks
    WHERE org = {org:String} AND sha1 IN {sums:Array(String)}
    GROUP BY sha1
    HAVING NOT argMax(released, (at, released))
)
