-- A page of the source maps of an application, the newest of each key, the latest first. Key: app. Rows read: its maps
-- without their content; returned: at most limit.
SELECT key, toUnixTimestamp64Milli(max(at)) AS uploaded_ms, argMax(bytes, at) AS size
FROM source_maps
WHERE app = {app:String} AND ({prefix:String} = '' OR startsWith(key, {prefix:String}))
GROUP BY key
HAVING {first_page:Bool} OR uploaded_ms < {after_ms:Int64} OR (uploaded_ms = {after_ms:Int64} AND key < {after_word:String})
ORDER BY uploaded_ms DESC, key DESC
LIMIT {limit:UInt32}
