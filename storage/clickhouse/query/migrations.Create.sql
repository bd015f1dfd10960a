-- Makes the table of the migrations that were applied. Applying one twice is harmless,
-- so two nodes that start at once may both record it.
CREATE TABLE IF NOT EXISTS migrations
(
    name    String,
    applied DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree(applied)
ORDER BY name
