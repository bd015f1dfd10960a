-- The rows of a file of people, in order. Lists and objects are JSON. Key: file, piece.
SELECT
    row.id AS id, row.distinctId AS distinctId, row.distinctIds AS distinctIds, row.email AS email, row.name AS name, row.company AS company, row.traits AS traits,
    row.firstSource AS firstSource, row.firstMedium AS firstMedium, row.firstCampaign AS firstCampaign, row.firstReferrer AS firstReferrer, row.firstUrl AS firstUrl,
    row.lastSource AS lastSource, row.lastMedium AS lastMedium, row.lastCampaign AS lastCampaign, row.lastReferrer AS lastReferrer, row.lastUrl AS lastUrl,
    row.country AS country, row.region AS region, row.city AS city, row.device AS device, row.browser AS browser, row.os AS os,
    parseDateTime64BestEffort(row.firstSeenAt, 3, 'UTC') AS firstSeenAt, parseDateTime64BestEffort(row.lastSeenAt, 3, 'UTC') AS lastSeenAt,
    row.sessions AS sessions, row.events AS events, row.pageviews AS pageviews, row.lifecycleStage AS lifecycleStage, row.stageSource AS stageSource, row.tags AS tags, row.crm AS crm
FROM
(
    SELECT
        piece, position,
        JSONExtract(line, 'Tuple(id String, distinctId Nullable(String), distinctIds String, email Nullable(String), name Nullable(String), company Nullable(String), traits String, firstSource Nullable(String), firstMedium Nullable(String), firstCampaign Nullable(String), firstReferrer Nullable(String), firstUrl Nullable(String), lastSource Nullable(String), lastMedium Nullable(String), lastCampaign Nullable(String), lastReferrer Nullable(String), lastUrl Nullable(String), country Nullable(String), region Nullable(String), city Nullable(String), device Nullable(String), browser Nullable(String), os Nullable(String), firstSeenAt String, lastSeenAt String, sessions UInt64, events UInt64, pageviews UInt64, lifecycleStage String, stageSource String, tags String, crm String)') AS row
    FROM export_rows
    WHERE file = {file:String} AND piece IN {pieces:Array(UInt64)}
    ORDER BY file, piece, position
)
