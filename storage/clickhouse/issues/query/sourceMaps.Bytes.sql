-- How many bytes the source maps of an application have, of each key the newest. Key: app. Rows: its maps.
SELECT sum(bytes)
FROM
(
    SELECT argMax(bytes, at) AS bytes
    FROM source_maps
    WHERE app = {app:String}
    GROUP BY key
)
