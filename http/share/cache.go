package share

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// Bounds of the cache, and of the reads that fill it.
const (
	cacheTime  = time.Minute      // Limits: share cache
	cacheBytes = 32 << 20         // This bounds the compressed pages.
	renders    = 4                // This bounds the concurrent renderings.
	waiting    = 64               // This bounds the running and the waiting renderings.
	renderTime = 20 * time.Second // This bounds one rendering including its wait.
)

// errBusy refuses a page while too many are being rendered.
var errBusy = errors.New("too many pages are being made")

// cache holds rendered pages for a minute. Readers of the same page share one rendering, which continues if the first
// of them disconnects. A failed rendering is not cached.
type cache struct {
	now   func() time.Time
	queue chan struct{}
	turns chan struct{}

	mu      sync.Mutex
	entries map[string]*entry
	// done lists the finished entries, the oldest first.
	done list.List
	size int
}

// entry is one page, which is complete when ready is closed.
type entry struct {
	key   string
	from  time.Time
	ready chan struct{}
	body  []byte
	err   error
}

func newCache(now func() time.Time) *cache {
	return &cache{now: now, queue: make(chan struct{}, waiting), turns: make(chan struct{}, renders), entries: map[string]*entry{}}
}

// get returns the page of a key, rendered at most a minute ago.
func (c *cache) get(ctx context.Context, key string, render func(context.Context) ([]byte, error)) ([]byte, error) {
	found, err := c.enter(ctx, key, render)
	if err != nil {
		return nil, err
	}
	select {
	case <-found.ready:
		return found.body, found.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// enter returns the entry of a key, and starts a new rendering if the last one is older than a
// minute.
func (c *cache) enter(ctx context.Context, key string, render func(context.Context) ([]byte, error)) (*entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	c.shrink(now)
	if found := c.entries[key]; found != nil && now.Sub(found.from) < cacheTime {
		return found, nil
	}
	select {
	case c.queue <- struct{}{}:
	default:
		return nil, errBusy
	}
	begun := &entry{key: key, from: now, ready: make(chan struct{})}
	c.entries[key] = begun
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renderTime)
	go func() {
		defer cancel()
		body, err := c.turn(ctx, render)
		c.finish(begun, body, err)
	}()
	return begun, nil
}

// turn renders a page when fewer than the maximum are being rendered.
func (c *cache) turn(ctx context.Context, render func(context.Context) ([]byte, error)) ([]byte, error) {
	defer func() { <-c.queue }()
	select {
	case c.turns <- struct{}{}:
		defer func() { <-c.turns }()
		return render(ctx)
	case <-ctx.Done():
		return nil, errBusy
	}
}

// finish completes an entry for its waiting readers.
func (c *cache) finish(done *entry, body []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done.body, done.err = body, err
	close(done.ready)
	if c.entries[done.key] != done {
		return
	}
	if err != nil {
		delete(c.entries, done.key)
		return
	}
	c.done.PushBack(done)
	c.size += len(body)
	c.shrink(c.now())
}

// shrink removes entries older than a minute, and the oldest while the cache is too large.
func (c *cache) shrink(now time.Time) {
	for oldest := c.done.Front(); oldest != nil; oldest = c.done.Front() {
		old := oldest.Value.(*entry)
		if c.size <= cacheBytes && now.Sub(old.from) < cacheTime {
			return
		}
		c.done.Remove(oldest)
		c.size -= len(old.body)
		if c.entries[old.key] == old {
			delete(c.entries, old.key)
		}
	}
}
