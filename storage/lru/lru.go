// Package lru keeps the most recently used values, up to a number of bytes.
package lru

import (
	"container/list"
	"iter"
	"sync"
)

// overhead is about how many bytes an entry takes besides its value.
const overhead = 200

// Cache keeps values by their keys, up to a number of bytes; the least recently used ones are
// dropped first. Its methods may be called from any number of goroutines. Callers must not change
// values that they get.
type Cache[K comparable, V any] struct {
	limit int

	mu    sync.Mutex
	used  int                 // guarded by mu
	order *list.List          // of *entry, the last used first; guarded by mu
	items map[K]*list.Element // guarded by mu
}

type entry[K comparable, V any] struct {
	key   K
	value V
	bytes int
}

// New returns an empty cache that holds up to limit bytes.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, order: list.New(), items: map[K]*list.Element{}}
}

// Get returns the value of a key, which counts as used.
func (c *Cache[K, V]) Get(key K) (value V, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, known := c.items[key]
	if !known {
		return value, false
	}
	c.order.MoveToFront(element)
	return element.Value.(*entry[K, V]).value, true
}

// Put keeps a value that takes about so many bytes, in place of the one of its key.
func (c *Cache[K, V]) Put(key K, value V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, known := c.items[key]; known {
		c.remove(element)
	}
	c.items[key] = c.order.PushFront(&entry[K, V]{key, value, bytes + overhead})
	c.used += bytes + overhead
	for c.used > c.limit && c.order.Len() > 0 {
		c.remove(c.order.Back())
	}
}

// Has reports whether the value of a key is kept. The value does not count as used.
func (c *Cache[K, V]) Has(key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.items[key]
	return known
}

// Full reports whether the cache is filled to a percentage.
func (c *Cache[K, V]) Full(percent int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used >= c.limit/100*percent
}

// Used returns about how many bytes are taken.
func (c *Cache[K, V]) Used() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// remove is called with mu held.
func (c *Cache[K, V]) remove(element *list.Element) {
	old := element.Value.(*entry[K, V])
	c.order.Remove(element)
	delete(c.items, old.key)
	c.used -= old.bytes
}

// Drop drops the values whose keys a function names.
func (c *Cache[K, V]) Drop(named func(key K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, element := range c.items {
		if named(key) {
			c.remove(element)
		}
	}
}

// All yields the values that are kept at the time of the call, the most recently used first.
func (c *Cache[K, V]) All() iter.Seq2[K, V] {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries := make([]*entry[K, V], 0, c.order.Len())
	for element := c.order.Front(); element != nil; element = element.Next() {
		entries = append(entries, element.Value.(*entry[K, V]))
	}
	return func(yield func(K, V) bool) {
		for _, e := range entries {
			if !yield(e.key, e.value) {
				return
			}
		}
	}
}
