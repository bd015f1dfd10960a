-- The size in bytes of the source maps of an application, the newest of each key. Key: app. Rows: its maps.
SELECT sum(bytes)
FROM
(
    SELECT argMax(bytes, at) AS bytes
    FROM source_maps
    WHERE app = {app:String}
    GROUP BY key
)
