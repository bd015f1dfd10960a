// Package lru caches the most recently used values, up to a number of bytes.
package lru

import (
	"container/list"
	"iter"
	"sync"
)

// overhead is the approximate size of an entry without its value, in bytes.
const overhead = 200

// Cache caches values by key, up to a number of bytes, and evicts the least recently used ones first. Its methods may
// be called concurrently. Callers must not change the values that they get.
type Cache[K comparable, V any] struct {
	limit int

	mu    sync.Mutex
	used  int                 // guarded by mu
	order *list.List          // values are *entry, the most recently used first; guarded by mu
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

// Get returns the value of a key and marks it as used.
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

// Put caches a value of approximately the given size in bytes. It replaces the previous value of the key.
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

// Has reports whether the value of a key is cached. It does not mark the value as used.
func (c *Cache[K, V]) Has(key K) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.items[key]
	return known
}

// Full reports whether the cache is filled to at least the given percentage.
func (c *Cache[K, V]) Full(percent int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used >= c.limit/100*percent
}

// Used returns the approximate number of bytes in use.
func (c *Cache[K, V]) Used() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

// remove removes an entry. The caller holds mu.
func (c *Cache[K, V]) remove(element *list.Element) {
	old := element.Value.(*entry[K, V])
	c.order.Remove(element)
	delete(c.items, old.key)
	c.used -= old.bytes
}

// Drop removes the values of the keys that named selects.
func (c *Cache[K, V]) Drop(named func(key K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, element := range c.items {
		if named(key) {
			c.remove(element)
		}
	}
}

// All yields the values that are cached at the time of the call, the most recently used first.
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
