-- The size in bytes of the pieces of an organization that were not assembled. Key: org. Rows: its pieces of a day.
SELECT sum(bytes)
FROM
(
    SELECT argMax(bytes, (at, released)) AS bytes
    FROM upload_chunks
    WHERE org = {org:String}
    GROUP BY sha1
)
