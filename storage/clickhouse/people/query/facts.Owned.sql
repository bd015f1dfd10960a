-- The owners of states of some visitors. Key: the key of the states. Part of other queries.
SELECT concat({owner_from:String}, toString(arrayJoin({only:Array(UInt64)})))
