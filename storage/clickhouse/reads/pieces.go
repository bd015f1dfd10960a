package reads

// pieceKey identifies whole slots of an environment that are counted together: [from, to) in seconds since 1970.
type pieceKey struct {
	environment uint64
	bots        bool
	from, to    int64
	// union marks the visitors of a whole window, to distinguish them from those of a day with the same ends.
	union bool
}

// piece is the set of visitors and sessions in the slots of its key. It is immutable.
type piece struct {
	// events is the number of events behind the piece. Events are only added, and expire by whole days. If the number
	// differs, the piece is read again.
	events   int64
	visitors []uint64 // ascending
	sessions uint64
	// sessionSet has the sessions, ascending, if the piece covers only a part of a day.
	sessionSet []uint64
}

func (p *piece) bytes() int {
	return 8 * (cap(p.visitors) + cap(p.sessionSet))
}

// knownPiece returns a cached piece if it covers exactly the given number of events.
func (db *Store) knownPiece(key pieceKey, events int64) *piece {
	if p, known := db.pieces.Get(key); known && p.events == events {
		return p
	}
	return nil
}

// keepPiece caches a piece. It replaces the previous piece of the key.
func (db *Store) keepPiece(key pieceKey, p *piece) { db.pieces.Put(key, p, p.bytes()) }

// union returns the distinct members of ascending sets, ascending.
func union(sets [][]uint64) []uint64 {
	switch len(sets) {
	case 0:
		return nil
	case 1:
		return sets[0]
	}
	half := len(sets) / 2
	return unionOfTwo(union(sets[:half]), union(sets[half:]))
}

func unionOfTwo(a, b []uint64) []uint64 {
	out := make([]uint64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		x, y := a[0], b[0]
		out = append(out, min(x, y))
		if x <= y {
			a = a[1:]
		}
		if y <= x {
			b = b[1:]
		}
	}
	return append(append(out, a...), b...)
}
