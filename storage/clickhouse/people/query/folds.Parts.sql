-- The parts of the tables of which people are made, and of what was kept of them under a number: table, the blocks of the part, the version
-- of the last mutation that it went through, rows. Key: none, one row for each part.
SELECT table, min_block_number, max_block_number, data_version, rows
FROM system.parts
WHERE database = currentDatabase() AND active
    AND (table IN ('profiles', 'arrivals', 'traits', 'links', 'roots', 'activations') OR table = 'person_folds' AND partition = toString({number:UInt64}))
