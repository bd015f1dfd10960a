-- The versions of issues and people of some owners. Key: owner. Rows read: the rows of the owners, without their
-- contents.
SELECT owner, toString(kind) AS kind, id, max(version)
FROM entities
WHERE $(owned) AND kind IN ('issue', 'person')
GROUP BY owner, kind, id
