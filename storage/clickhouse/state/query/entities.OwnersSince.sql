-- The owners of entities of some kinds that were written in a version or a later one.
-- Key: none; the index kinds leaves the granules that hold the kinds. Versions that a
-- later one replaces are read too, which names an owner no more often.
SELECT DISTINCT owner
FROM entities
WHERE kind IN {kinds:Array(String)} AND version >= {version:UInt64}
ORDER BY owner
