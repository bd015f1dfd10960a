-- Removes what actors stored before it was deleted. Key: owner.
ALTER TABLE entities DELETE WHERE owner IN {owners:Array(String)} AND NOT deleted
