package clickhouse

import (
	"container/list"
	"iter"
	"sync"
)

// memory keeps the results that were used last, up to a number of bytes. A key says all
// that a result depends on, so results never grow old; what nobody asks for any more is
// forgotten in time. Results are not changed by those who take them.
type memory[K comparable, V any] struct {
	limit int

	mu    sync.Mutex
	used  int                 // guarded by mu
	order *list.List          // of *remembered, the last used first; guarded by mu
	items map[K]*list.Element // guarded by mu
}

type remembered[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

func newMemory[K comparable, V any](limit int) *memory[K, V] {
	return &memory[K, V]{limit: limit, order: list.New(), items: map[K]*list.Element{}}
}

func (m *memory[K, V]) get(key K) (value V, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	element, known := m.items[key]
	if !known {
		return value, false
	}
	m.order.MoveToFront(element)
	return element.Value.(*remembered[K, V]).value, true
}

// put keeps a result that takes about so many bytes.
func (m *memory[K, V]) put(key K, value V, bytes int) {
	const overhead = 200
	m.mu.Lock()
	defer m.mu.Unlock()
	if element, known := m.items[key]; known {
		m.remove(element)
	}
	m.items[key] = m.order.PushFront(&remembered[K, V]{key, value, bytes + overhead})
	m.used += bytes + overhead
	for m.used > m.limit && m.order.Len() > 0 {
		m.remove(m.order.Back())
	}
}

// has says whether a result is known, and leaves it as old as it is.
func (m *memory[K, V]) has(key K) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.items[key]
	return known
}

// full says whether a share of the room, in percent, is taken.
func (m *memory[K, V]) full(percent int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used >= m.limit/100*percent
}

// remove is called with mu held.
func (m *memory[K, V]) remove(element *list.Element) {
	entry := element.Value.(*remembered[K, V])
	m.order.Remove(element)
	delete(m.items, entry.key)
	m.used -= entry.bytes
}

// all goes through what is kept when it is called, that used last first.
func (m *memory[K, V]) all() iter.Seq2[K, V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	entries := make([]*remembered[K, V], 0, m.order.Len())
	for element := m.order.Front(); element != nil; element = element.Next() {
		entries = append(entries, element.Value.(*remembered[K, V]))
	}
	return func(yield func(K, V) bool) {
		for _, entry := range entries {
			if !yield(entry.key, entry.value) {
				return
			}
		}
	}
}
