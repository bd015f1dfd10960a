-- How many versions of issues and people some owners have, and a sum that tells them from others. Key: owner. Rows read:
-- those of the owners, without their contents.
SELECT count(), sum(cityHash64(owner, kind, id, version))
FROM entities
WHERE $(owned) AND kind IN ('issue', 'person')
