package clickhouse

import (
	"container/list"
	"sync"
)

// pieceKey names whole slots of an environment that are counted together: [from, to) in
// seconds since 1970.
type pieceKey struct {
	environment uint64
	bots        bool
	from, to    int64
	// union marks the visitors of a whole window, beside those of a day that has the
	// same ends.
	union bool
}

// piece is who was active in the slots of its key. It is immutable.
type piece struct {
	// events is the number of events behind it. Events are only ever added, so the same
	// number means the same events.
	events   int64
	visitors []uint64 // ascending
	sessions uint64
	// sessionSet holds the sessions, ascending, where the piece is a part of a day only.
	sessionSet []uint64
}

func (p *piece) bytes() int {
	const overhead = 200
	return overhead + 8*(cap(p.visitors)+cap(p.sessionSet))
}

// dayCache keeps the pieces that were used last, up to a number of bytes.
type dayCache struct {
	limit int

	mu    sync.Mutex
	used  int                        // guarded by mu
	order *list.List                 // of *dayEntry, the last used first; guarded by mu
	items map[pieceKey]*list.Element // guarded by mu
}

type dayEntry struct {
	key   pieceKey
	piece *piece
}

func newDayCache(limit int) *dayCache {
	return &dayCache{limit: limit, order: list.New(), items: map[pieceKey]*list.Element{}}
}

// get returns a piece if it is known and covers exactly a number of events.
func (c *dayCache) get(key pieceKey, events int64) *piece {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, known := c.items[key]
	if !known {
		return nil
	}
	entry := element.Value.(*dayEntry)
	if entry.piece.events != events {
		return nil
	}
	c.order.MoveToFront(element)
	return entry.piece
}

// put keeps a piece in place of the one of its key.
func (c *dayCache) put(key pieceKey, p *piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, known := c.items[key]; known {
		c.remove(element)
	}
	c.items[key] = c.order.PushFront(&dayEntry{key, p})
	c.used += p.bytes()
	for c.used > c.limit && c.order.Len() > 0 {
		c.remove(c.order.Back())
	}
}

// remove is called with mu held.
func (c *dayCache) remove(element *list.Element) {
	entry := element.Value.(*dayEntry)
	c.order.Remove(element)
	delete(c.items, entry.key)
	c.used -= entry.piece.bytes()
}

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
