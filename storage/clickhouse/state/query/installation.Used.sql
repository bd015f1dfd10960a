-- Whether anything was ever written: a first start creates an organization before anything else. Key: none, reads one
-- row.
SELECT count() FROM (SELECT 1 FROM entities LIMIT 1)
