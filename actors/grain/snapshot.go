package grain

import (
	"iter"
	"sync"
	"sync/atomic"

	"svc/domain"
)

// Snapshot is a node's copy in memory of values that every request may need. Each value belongs to an owner, such as an
// application, which replaces all of its values at once. Readers find a value by its key without a lock. A value must
// not be changed after it was published. The zero value is an empty snapshot.
type Snapshot[Owner, Key comparable, Value any] struct {
	values sync.Map // Key → Value
	count  atomic.Int64

	mu     sync.Mutex
	owners map[Owner]published[Key]
}

// published holds the last version of an owner's values and their keys.
type published[Key comparable] struct {
	version domain.Version
	keys    []Key
}

// Find returns the value of a key. It returns the zero value and false if there is none.
func (s *Snapshot[Owner, Key, Value]) Find(key Key) (Value, bool) {
	if found, known := s.values.Load(key); known {
		return found.(Value), true //nolint:forcetypeassert // Replace stores values of this type only
	}
	var none Value
	return none, false
}

// Len returns the number of values.
func (s *Snapshot[Owner, Key, Value]) Len() int { return int(s.count.Load()) }

// All yields every value in no order.
func (s *Snapshot[Owner, Key, Value]) All() iter.Seq2[Key, Value] {
	return func(yield func(Key, Value) bool) {
		s.values.Range(func(key, value any) bool {
			return yield(key.(Key), value.(Value)) //nolint:forcetypeassert // Replace stores these types only
		})
	}
}

// Replace replaces the values of an owner, unless a later version is known.
func (s *Snapshot[Owner, Key, Value]) Replace(version domain.Version, owner Owner, values map[Key]Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.owners[owner]
	if version.Number() < before.version.Number() {
		return
	}
	next := published[Key]{version: version}
	for key, value := range values {
		s.values.Store(key, value)
		next.keys = append(next.keys, key)
	}
	for _, key := range before.keys {
		if _, stays := values[key]; !stays {
			s.values.Delete(key)
		}
	}
	s.count.Add(int64(len(next.keys) - len(before.keys)))
	if s.owners == nil {
		s.owners = map[Owner]published[Key]{}
	}
	s.owners[owner] = next
}
