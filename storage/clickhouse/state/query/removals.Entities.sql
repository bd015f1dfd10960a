-- Removes the entities that actors stored before they were deleted. Key: owner.
ALTER TABLE entities DELETE WHERE owner IN {owners:Array(String)} AND NOT deleted
