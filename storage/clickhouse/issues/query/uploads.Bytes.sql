-- How many bytes the pieces of an organization have that were not put together. Key: org. Rows: its
-- pieces of a day.
SELECT sum(bytes)
FROM
(
    SELECT argMax(bytes, (at, released)) AS bytes
    FROM upload_chunks
    WHERE org = {org:String}
    GROUP BY sha1
)
