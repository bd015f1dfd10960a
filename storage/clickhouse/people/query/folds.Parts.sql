-- The parts of the tables that people are folded from, and of the profiles of a number: table, range of blocks,
-- version of the last mutation of the part, rows. Key: none, one row for each part.
SELECT table, min_block_number, max_block_number, data_version, rows
FROM system.parts
WHERE database = currentDatabase() AND active
    AND (table IN ('profiles', 'arrivals', 'entries', 'traits', 'links', 'roots', 'activations') OR table = 'person_folds' AND partition = toString({number:UInt64}))
