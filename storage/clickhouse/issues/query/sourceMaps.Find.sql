-- The newest source map of an application under the first of the keys that has a map. Key: app, key. Rows: at most one
-- granule of 64 for each key.
SELECT content
FROM source_maps
WHERE app = {app:String} AND key IN {keys:Array(String)}
ORDER BY indexOf({keys:Array(String)}, key), at DESC
LIMIT 1
