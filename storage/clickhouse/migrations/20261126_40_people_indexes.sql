-- Indexes of the granules with the anonymous ids of a known id and with the visitors of a root. Reads find the
-- visitors of a person without reading all links.
ALTER TABLE links ADD INDEX IF NOT EXISTS known known TYPE bloom_filter(0.0001) GRANULARITY 1;

ALTER TABLE links MATERIALIZE INDEX known;

ALTER TABLE roots ADD INDEX IF NOT EXISTS root root TYPE bloom_filter(0.0001) GRANULARITY 1;

ALTER TABLE roots MATERIALIZE INDEX root;
