-- The number of versions of issues and people of some owners, and a checksum of them. Key: owner. Rows read: the rows
-- of the owners, without their contents.
SELECT count(), sum(cityHash64(owner, kind, id, version))
FROM entities
WHERE $(owned) AND kind IN ('issue', 'person')
