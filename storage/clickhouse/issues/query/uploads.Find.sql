-- One piece of an upload, empty if it was released. Key: org, sha1. Rows: at most a granule of 16.
SELECT content
FROM upload_chunks
WHERE org = {org:String} AND sha1 = {sha1:String}
ORDER BY at DESC, released DESC
LIMIT 1
