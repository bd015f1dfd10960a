-- One piece of an upload. Key: org, sha1. Rows: at most a granule of 16.
SELECT content
FROM upload_chunks
WHERE org = {org:String} AND sha1 = {sha1:String}
LIMIT 1
