package actors

// recentIDs remembers the ids of the events of one partition for the exact
// removal of duplicates. It keeps at least the newest limit ids and at most
// twice as many: ids gather in one set until it is full, and the set before it
// is kept beside it.
type recentIDs struct {
	limit            int
	newest, previous map[[2]uint64]struct{}
}

func newRecentIDs(limit int) *recentIDs {
	return &recentIDs{limit: limit, newest: map[[2]uint64]struct{}{}}
}

// add remembers an id and reports whether it is new.
func (r *recentIDs) add(id [2]uint64) bool {
	if _, known := r.newest[id]; known {
		return false
	}
	if _, known := r.previous[id]; known {
		return false
	}
	if len(r.newest) >= r.limit {
		r.previous, r.newest = r.newest, make(map[[2]uint64]struct{}, r.limit/4)
	}
	r.newest[id] = struct{}{}
	return true
}

// size returns how many ids are remembered.
func (r *recentIDs) size() int { return len(r.newest) + len(r.previous) }
