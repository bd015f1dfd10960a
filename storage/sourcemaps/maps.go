package sourcemaps

import (
	"container/list"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-sourcemap/sourcemap"
)

// Store keeps the source maps of applications.
type Store interface {
	// SourceMap returns the newest map of an application under any of the keys, the
	// first key that has one; nil where none has.
	SourceMap(ctx context.Context, app string, keys []string) ([]byte, error)
}

// Place is a position in a text: line from 1, column from 1, 0 where unknown.
type Place struct {
	File, Function string
	Line, Column   int
}

// Config is what Maps are made of.
type Config struct {
	Store Store
	// MaxBytes bounds the memory of parsed maps, about.
	MaxBytes int
	Now      func() time.Time
}

// absence is how long an answer that there is no map is believed: uploads may come
// after the first errors of a release.
const absence = 10 * time.Second

// parsedCost is about how many bytes a parsed map takes for each of its own.
const parsedCost = 6

// Maps resolves places through the maps of a store. It may be used by many at once.
type Maps struct {
	config Config

	mu      sync.Mutex
	entries map[string]*list.Element
	order   *list.List
	bytes   int
}

// entry is a map in memory; parsed is nil where the store had none.
type entry struct {
	key    string
	ready  chan struct{}
	parsed *parsed
	bytes  int
	until  time.Time
}

// parsed is a map that can be asked. The library's consumer is not safe for several
// callers.
type parsed struct {
	mu       sync.Mutex
	consumer *sourcemap.Consumer
}

// New returns resolvers over a store.
func New(config Config) *Maps {
	return &Maps{config: config, entries: map[string]*list.Element{}, order: list.New()}
}

// Resolve returns the original of a place in minified code. Keys are what its map may
// be found by, the best first. It returns false where there is no map, or none that
// knows the place.
func (m *Maps) Resolve(ctx context.Context, app string, keys []string, at Place) (Place, bool) {
	if len(keys) == 0 || at.Line < 1 {
		return Place{}, false
	}
	p := m.find(ctx, app, keys)
	if p == nil {
		return Place{}, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	file, name, line, column, ok := p.consumer.Source(at.Line, max(at.Column-1, 0))
	if !ok || file == "" {
		return Place{}, false
	}
	original := Place{File: file, Line: line, Column: column + 1, Function: name}
	if text := p.consumer.SourceContent(file); text != "" {
		original.Function = function(text, line, column)
	}
	return original, true
}

// find returns the map of the keys, from memory or from the store; callers at the same
// time share one reading.
func (m *Maps) find(ctx context.Context, app string, keys []string) *parsed {
	key := app + "\x00" + strings.Join(keys, "\x00")
	m.mu.Lock()
	if element := m.entries[key]; element != nil {
		held := element.Value.(*entry)
		if held.until.IsZero() || m.config.Now().Before(held.until) {
			m.order.MoveToFront(element)
			m.mu.Unlock()
			select {
			case <-held.ready:
				return held.parsed
			case <-ctx.Done():
				return nil
			}
		}
		m.remove(element)
	}
	made := &entry{key: key, ready: make(chan struct{})}
	m.entries[key] = m.order.PushFront(made)
	m.mu.Unlock()
	m.read(ctx, made, app, keys)
	return made.parsed
}

// read fills an entry; one without a map is believed for a while only.
func (m *Maps) read(ctx context.Context, made *entry, app string, keys []string) {
	content, err := m.config.Store.SourceMap(ctx, app, keys)
	var consumer *sourcemap.Consumer
	if err == nil && content != nil {
		consumer, err = sourcemap.Parse("", content)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if consumer != nil && err == nil {
		made.parsed, made.bytes = &parsed{consumer: consumer}, parsedCost*len(content)
	} else {
		made.until = m.config.Now().Add(absence)
	}
	m.bytes += made.bytes
	close(made.ready)
	for m.bytes > m.config.MaxBytes && m.order.Len() > 1 {
		m.remove(m.order.Back())
	}
	for m.order.Len() > maxEntries {
		m.remove(m.order.Back())
	}
}

// maxEntries bounds the answers that there is no map.
const maxEntries = 10_000

func (m *Maps) remove(element *list.Element) {
	held := m.order.Remove(element).(*entry)
	if m.entries[held.key] == element {
		delete(m.entries, held.key)
	}
	m.bytes -= held.bytes
}
