package admission

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// pool bounds the bytes and the places that requests hold. It admits waiting requests round robin between their
// applications.
type pool struct {
	// budget is for all applications, share for one; an application that holds nothing may exceed its share.
	budget, share int64
	places        int // 0 means no bound.
	// wait is the maximum wait of a request.
	wait time.Duration

	mu    sync.Mutex
	held  int64
	taken int
	apps  map[string]*tenant
	// queue holds the applications with waiting requests, the next one first.
	queue []*tenant
}

func newPool(budget, share int64, places int) *pool {
	return &pool{budget: budget, share: share, places: places, wait: admissionTime, apps: map[string]*tenant{}}
}

// tenant is an application in a pool.
type tenant struct {
	// share is the share of its latest request, 0 for the pool's.
	share   int64
	held    int64
	taken   int
	waiting []*claim
}

// claim is a request for bytes, and for a place if place is set.
type claim struct {
	bytes int64
	// share is the number of bytes that the application may hold from now on, 0 for the pool's share.
	share int64
	place bool
	// granted is closed when the request is admitted.
	granted chan struct{}
}

// acquire waits until the pool can admit the request, and takes its bytes and place.
func (p *pool) acquire(ctx context.Context, app string, want *claim) error {
	p.mu.Lock()
	t := p.tenant(app)
	t.share = want.share
	if (len(p.queue) == 0 || p.mayPass(want)) && p.fits(t, want) {
		p.take(t, want)
		p.mu.Unlock()
		return nil
	}
	want.granted = make(chan struct{})
	if t.waiting = append(t.waiting, want); len(t.waiting) == 1 {
		p.queue = append(p.queue, t)
	}
	p.admit()
	p.mu.Unlock()
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	select {
	case <-want.granted:
		return nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return p.abandon(app, t, want)
}

// abandon ends the wait of a request, unless the request has just been admitted.
func (p *pool) abandon(app string, t *tenant, want *claim) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(t.waiting, want)
	if at < 0 {
		return nil
	}
	if t.waiting = slices.Delete(t.waiting, at, at+1); len(t.waiting) == 0 {
		p.queue = slices.DeleteFunc(p.queue, func(other *tenant) bool { return other == t })
	}
	p.prune(app, t)
	p.admit()
	return errBusy()
}

// grow takes more bytes for an admitted request. It returns false at once if the pool lacks them: a request that holds
// a place must not wait.
func (p *pool) grow(app string, bytes int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tenant(app)
	want := &claim{bytes: bytes}
	if p.held+bytes > p.budget || p.exceedsShare(t, want) {
		p.prune(app, t)
		return false
	}
	p.take(t, want)
	return true
}

func (p *pool) tenant(app string) *tenant {
	t := p.apps[app]
	if t == nil {
		t = &tenant{}
		p.apps[app] = t
	}
	return t
}

// fits reports whether an application's request may be admitted.
func (p *pool) fits(t *tenant, want *claim) bool {
	return p.held+want.bytes <= p.budget && !p.exceedsShare(t, want) && !p.full(want)
}

// full reports whether a request needs a place and all are taken.
func (p *pool) full(want *claim) bool { return want.place && p.places > 0 && p.taken >= p.places }

// mayPass reports whether a request may pass the queue: it is short, needs no place, and half of the pool is free.
func (p *pool) mayPass(want *claim) bool {
	return !want.place && want.bytes <= smallClaim && p.held < p.budget/2
}

// exceedsShare reports whether an application would have more than its share.
func (p *pool) exceedsShare(t *tenant, want *claim) bool {
	return t.held > 0 && t.held+want.bytes > cmp.Or(t.share, p.share)
}

func (p *pool) take(t *tenant, want *claim) {
	p.held += want.bytes
	t.held += want.bytes
	if want.place {
		p.taken++
		t.taken++
	}
}

// admit admits waiting requests, one of each application in turn. It stops at an application if its first request needs
// bytes that others hold, or large requests would never be admitted. It skips an application that waits for its own
// bytes, or for a place.
func (p *pool) admit() {
	for at := 0; at < len(p.queue); {
		t := p.queue[at]
		want := t.waiting[0]
		switch {
		case p.exceedsShare(t, want), p.full(want):
			at++
			continue
		case !p.fits(t, want):
			return
		}
		p.take(t, want)
		close(want.granted)
		t.waiting = t.waiting[1:]
		p.queue = slices.Delete(p.queue, at, at+1)
		if len(t.waiting) > 0 {
			p.queue = append(p.queue, t)
		}
	}
}

// release returns bytes, and a place if place is set.
func (p *pool) release(app string, bytes int64, place bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.apps[app]
	p.held -= bytes
	t.held -= bytes
	if place {
		p.taken--
		t.taken--
	}
	p.prune(app, t)
	p.admit()
}

// prune removes an application that holds nothing and has no waiting requests.
func (p *pool) prune(app string, t *tenant) {
	if t.held == 0 && t.taken == 0 && len(t.waiting) == 0 {
		delete(p.apps, app)
	}
}
