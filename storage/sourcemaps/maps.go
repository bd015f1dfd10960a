package sourcemaps

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Store stores the source maps of applications.
type Store interface {
	// SourceMap returns the newest map of an application under the first of the keys that has a map, or nil.
	SourceMap(ctx context.Context, app string, keys []string) ([]byte, error)
}

// Place is a position in a text. Line and Column count from 1; 0 means unknown.
type Place struct {
	File, Function string
	Line, Column   int
}

// Config holds the settings of Maps.
type Config struct {
	Store Store
	// MaxBytes limits the memory of parsed maps, approximately.
	MaxBytes int
	Now      func() time.Time
}

// absence is how long the answer that there is no map is cached. An upload may come after the first errors of a
// release.
const absence = 10 * time.Second

// Maps resolves positions through the maps of a store. It is safe for concurrent use.
type Maps struct {
	config Config

	mu      sync.Mutex
	entries map[string]*list.Element
	order   *list.List
	bytes   int
}

// entry is a cached map. If there is no map, err is the reason.
type entry struct {
	key    string
	ready  chan struct{}
	parsed *parsed
	err    error
	bytes  int
	until  time.Time
}

// The reasons why a position is not resolved. Any other error comes from the store.
var (
	ErrNoMap     = errors.New("no source map was uploaded for it")
	ErrNotMapped = errors.New("its source map does not know the place")
)

// BrokenError means that a map cannot be read.
type BrokenError struct{ Reason error }

// Error describes the defect of the map.
func (e *BrokenError) Error() string { return "its source map cannot be read: " + e.Reason.Error() }

// Unwrap returns the defect of the map.
func (e *BrokenError) Unwrap() error { return e.Reason }

// New returns a Maps over a store.
func New(config Config) *Maps {
	return &Maps{config: config, entries: map[string]*list.Element{}, order: list.New()}
}

// Resolve returns the original of a position in minified code. keys are the possible keys of its map, the best first.
// It returns ErrNoMap, ErrNotMapped, a BrokenError, or an error of the store. No content of a map makes it panic.
func (m *Maps) Resolve(ctx context.Context, app string, keys []string, at Place) (original Place, err error) {
	if len(keys) == 0 || at.Line < 1 || max(at.Line, at.Column) > maxPlace {
		return Place{}, ErrNotMapped
	}
	p, err := m.find(ctx, app, keys)
	if err != nil {
		return Place{}, err
	}
	defer contain(&err)
	found := p.find(at.Line-1, max(at.Column-1, 0))
	if found == nil || p.sources[found.source].file == "" {
		return Place{}, ErrNotMapped
	}
	from := &p.sources[found.source]
	original = Place{File: from.file, Line: int(found.fromLine) + 1, Column: int(found.fromColm) + 1}
	if found.name >= 0 {
		original.Function = p.names[found.name]
	}
	switch {
	case len(from.scopes) > 0:
		original.Function = from.scopeOf(original.Line, original.Column-1)
	case from.text != "":
		original.Function = function(from.text, original.Line, original.Column-1)
	}
	return original, nil
}

// contain converts a panic over an uploaded map into a BrokenError.
func contain(err *error) {
	if fault := recover(); fault != nil {
		*err = &BrokenError{fmt.Errorf("reading it panicked: %v", fault)}
	}
}

// find returns the map of the keys, from the cache or from the store. Concurrent callers share one read.
func (m *Maps) find(ctx context.Context, app string, keys []string) (*parsed, error) {
	key := app + "\x00" + strings.Join(keys, "\x00")
	m.mu.Lock()
	if element := m.entries[key]; element != nil {
		held := element.Value.(*entry)
		if held.until.IsZero() || m.config.Now().Before(held.until) {
			m.order.MoveToFront(element)
			m.mu.Unlock()
			select {
			case <-held.ready:
				return held.parsed, held.err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		m.remove(element)
	}
	made := &entry{key: key, ready: make(chan struct{})}
	m.entries[key] = m.order.PushFront(made)
	m.mu.Unlock()
	m.read(ctx, made, app, keys)
	return made.parsed, made.err
}

// load reads a map from the store.
func (m *Maps) load(ctx context.Context, app string, keys []string) (p *parsed, err error) {
	content, err := m.config.Store.SourceMap(ctx, app, keys)
	switch {
	case err != nil:
		return nil, err
	case content == nil:
		return nil, ErrNoMap
	}
	defer contain(&err)
	if p, err = parse(content); err != nil {
		return nil, &BrokenError{err}
	}
	return p, nil
}

// read fills an entry. The answer that there is no usable map is cached only for the time absence.
func (m *Maps) read(ctx context.Context, made *entry, app string, keys []string) {
	found, err := m.load(ctx, app, keys)
	m.mu.Lock()
	defer m.mu.Unlock()
	_, broken := errors.AsType[*BrokenError](err)
	switch {
	case err == nil:
		made.parsed, made.bytes = found, found.bytes()
	case broken || errors.Is(err, ErrNoMap):
		made.err, made.until = err, m.config.Now().Add(absence)
	default: // an error of the store, or the end of one caller's context, must not affect the next caller
		made.err, made.until = err, m.config.Now()
	}
	close(made.ready)
	if element := m.entries[made.key]; element == nil || element.Value != made {
		return // the entry was evicted meanwhile
	}
	m.bytes += made.bytes
	for m.bytes > m.config.MaxBytes && m.order.Len() > 1 {
		m.remove(m.order.Back())
	}
	for m.order.Len() > maxEntries {
		m.remove(m.order.Back())
	}
}

// maxEntries limits the number of entries, which includes answers that there is no map.
const maxEntries = 10_000

func (m *Maps) remove(element *list.Element) {
	held := m.order.Remove(element).(*entry)
	if m.entries[held.key] == element {
		delete(m.entries, held.key)
	}
	m.bytes -= held.bytes
}
