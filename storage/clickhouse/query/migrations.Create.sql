-- Creates the table of the applied migrations. It is harmless to apply a migration twice, so two nodes that start at
-- the same time may both record it.
CREATE TABLE IF NOT EXISTS migrations
(
    name    String,
    applied DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree(applied)
ORDER BY name
