-- The rows of a file of events, in order. Key: file, piece.
SELECT
    row.id AS id, parseDateTime64BestEffort(row.ts, 3, 'UTC') AS ts, parseDateTime64BestEffort(row.receivedAt, 3, 'UTC') AS receivedAt, row.name AS name, row.url AS url,
    row.path AS path, row.title AS title, row.referrer AS referrer, row.referrerDomain AS referrerDomain, row.distinctId AS distinctId, row.anonymousId AS anonymousId,
    row.personId AS personId, row.sessionId AS sessionId, row.source AS source, row.medium AS medium, row.utmSource AS utmSource, row.utmMedium AS utmMedium,
    row.utmCampaign AS utmCampaign, row.utmTerm AS utmTerm, row.utmContent AS utmContent, row.clickIds AS clickIds, row.country AS country, row.region AS region, row.city AS city,
    row.device AS device, row.browser AS browser, row.browserVersion AS browserVersion, row.os AS os, row.osVersion AS osVersion, row.screen AS screen, row.locale AS locale,
    row.value AS value, row.currency AS currency, row.properties AS properties, row.release AS release, row.library AS library, row.isBot AS isBot, row.environment AS environment
FROM
(
    SELECT
        piece, position,
        JSONExtract(line, 'Tuple(id String, ts String, receivedAt String, name String, url Nullable(String), path Nullable(String), title Nullable(String), referrer Nullable(String), referrerDomain Nullable(String), distinctId Nullable(String), anonymousId Nullable(String), personId Nullable(String), sessionId Nullable(String), source Nullable(String), medium Nullable(String), utmSource Nullable(String), utmMedium Nullable(String), utmCampaign Nullable(String), utmTerm Nullable(String), utmContent Nullable(String), clickIds String, country Nullable(String), region Nullable(String), city Nullable(String), device Nullable(String), browser Nullable(String), browserVersion Nullable(String), os Nullable(String), osVersion Nullable(String), screen Nullable(String), locale Nullable(String), value Nullable(Float64), currency Nullable(String), properties String, release Nullable(String), library Nullable(String), isBot Bool, environment String)') AS row
    FROM export_rows
    WHERE file = {file:String} AND piece IN {pieces:Array(UInt64)}
    ORDER BY file, piece, position
)
