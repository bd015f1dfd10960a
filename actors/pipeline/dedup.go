package pipeline

import "svc/protos"

// dedup remembers the ids of the events of one partition, for the exact removal of duplicates. It holds at least the
// newest limit ids and at most twice as many: ids gather in one set until it is full, and the previous set is retained
// along with it.
type dedup struct {
	limit            int
	newest, previous *idSet
}

func newDedup(limit int) *dedup {
	return &dedup{limit: limit, newest: newIDSet(), previous: newIDSet()}
}

// add remembers an id and reports whether it is new.
func (r *dedup) add(id [2]uint64) bool {
	if r.previous.has(id) {
		return false
	}
	if r.newest.count >= r.limit && !r.newest.has(id) {
		r.previous, r.newest = r.newest, newIDSet()
	}
	return r.newest.add(id)
}

// has reports whether an id is remembered.
func (r *dedup) has(id [2]uint64) bool { return r.newest.has(id) || r.previous.has(id) }

// size returns how many ids are remembered.
func (r *dedup) size() int { return r.newest.count + r.previous.count }

// idSet is a set of ids in one flat table: 16 bytes a slot, three quarters full
// at most, nothing for the garbage collector to follow. A map takes three times
// the memory.
type idSet struct {
	slots [][2]uint64
	count int
	// zero says that the set contains the id of two zeros, which marks an empty slot.
	zero bool
}

// firstSlots is the size of a new table; sizes are powers of two.
const firstSlots = 64

func newIDSet() *idSet { return &idSet{slots: make([][2]uint64, firstSlots)} }

// find returns the slot of an id: the slot that holds it, or the empty slot for it.
func (s *idSet) find(id [2]uint64) int {
	mask := len(s.slots) - 1
	at := int(id[0]^id[1]>>32) & mask
	for s.slots[at] != id && s.slots[at] != [2]uint64{} {
		at = (at + 1) & mask
	}
	return at
}

func (s *idSet) has(id [2]uint64) bool {
	if id == [2]uint64{} {
		return s.zero
	}
	return s.slots[s.find(id)] == id
}

// add adds an id and reports whether it is new.
func (s *idSet) add(id [2]uint64) bool {
	if s.has(id) {
		return false
	}
	s.count++
	if id == [2]uint64{} {
		s.zero = true
		return true
	}
	if 4*s.count > 3*len(s.slots) {
		s.grow()
	}
	s.slots[s.find(id)] = id
	return true
}

func (s *idSet) grow() {
	old := s.slots
	s.slots = make([][2]uint64, 2*len(old))
	for _, id := range old {
		if id != [2]uint64{} {
			s.slots[s.find(id)] = id
		}
	}
}

// known adds the key of an item and reports whether it was known. A replayed dead letter has its own key, since the key
// of its item was added when it was folded first.
func known(ids *dedup, key [2]uint64, letter string) bool {
	if letter != "" {
		key = letterKey(letter)
	}
	return !ids.add(key)
}

// letterKey names the item of a replayed dead letter.
func letterKey(letter string) [2]uint64 { return protos.EventKey(0, 0, "", letter) }
