package ingest

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"svc"
)

// Admission bounds the memory and the processors that ingest requests take of a node, and divides
// both fairly between applications. A request passes three pools: in the first its body is read as
// it came, in the second it is inflated, decoded and checked, and in the third it waits for the log.
// The first two have a budget of bytes, of which one application gets half at most. The second has
// fewer places than the node has processors, so that the node's other work continues. In the third
// an application gets only as much as keeps the log busy, so that requests of others wait a short
// time. A nil Admission bounds nothing.
type Admission struct {
	reading, working, sending *pool
	// processors are taken by requests that have a place; nil where there are always enough.
	processors Processors
	// sent counts what applications sent. throttle delays those that send more than their part while the
	// store lags, pace those that send much while the processors are short; nil delays none.
	sent     *sentBytes
	throttle *throttle
	pace     *pace
	// fromAddresses counts what public addresses sent with public keys, addressPace delays the one that sends much while others send.
	fromAddresses *sentAddresses
	addressPace   *pace
	// met notes who was held back.
	met fairness
}

const (
	// readingShare is the part of the budget that is for bodies as they came.
	readingShare = 4
	// admissionTime is how long a request waits for one pool, as long as for the log.
	admissionTime = 4 * time.Second
	// smallClaim is the length up to which a request may pass the queue.
	smallClaim = 1 << 20
	// sendingShare is how many bytes of one application may wait for the log; a longer request
	// goes alone.
	sendingShare = 512 << 10
)

// Share divides the node between applications that send at the same time. Those that send more than
// their part are delayed while the oldest record of their shard that is not stored is older than maxLag, and while
// the node's processors, so many, are short.
func (a *Admission) Share(lag func(shard int) time.Duration, maxLag time.Duration, processors int, now func() time.Time) {
	a.sent = newSentBytes(now)
	a.throttle = &throttle{sent: a.sent, lag: lag, maxLag: maxLag, now: now}
	a.pace = newPace(a.sent, processors, now)
	a.fromAddresses = newSentAddresses(now, paceTime, paceMuch)
	a.addressPace = newPace(a.fromAddresses, processors, now)
}

// Processors divides the node's processors between all work that keeps one busy for
// milliseconds. Work of microseconds does not take one.
type Processors interface {
	// Take waits for a processor, first come first served.
	Take(ctx context.Context) error
	// Give returns the processor.
	Give()
}

// UseProcessors makes requests that have a place wait for a processor as well.
func (a *Admission) UseProcessors(processors Processors) { a.processors = processors }

// NewAdmission returns an admission with a budget of bytes.
func NewAdmission(budget int64) *Admission {
	reading := budget / readingShare
	working := budget - reading
	return &Admission{
		reading: newPool(reading, reading/2, 0),
		working: newPool(working, working/2, max(1, runtime.GOMAXPROCS(0)/2)),
		sending: newPool(math.MaxInt64, sendingShare, 0),
	}
}

// errBusy is the refusal of a request that waited in vain.
func errBusy() error {
	return &svc.Error{
		Code: svc.CodeUnavailable, Accepted: svc.AcceptedNone, RetryAfter: collectRetry,
		Message: "The service is taking in as much as it can hold; nothing was accepted.",
	}
}

// pool bounds the bytes and the places that requests hold. Waiting requests are admitted in turn
// of their applications.
type pool struct {
	// budget is for all applications, share for one; one that holds nothing may exceed its share.
	budget, share int64
	places        int // 0 for no bound
	// wait is how long a request waits.
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
	// share is that of its latest request, 0 for the pool's.
	share   int64
	held    int64
	taken   int
	waiting []*claim
}

// claim is a request for bytes, and for a place if place is set.
type claim struct {
	bytes int64
	// share is how many bytes the application may hold from now on, 0 for the pool's share.
	share int64
	place bool
	// granted is closed when the request is admitted.
	granted chan struct{}
}

// acquire waits until the pool has what the request wants, and takes it.
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

// abandon ends the wait of a request, unless it was admitted meanwhile.
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

// grow takes more bytes for an admitted request. It returns false at once if there are none: a
// request that holds a place must not wait.
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

// full reports whether a request wants a place and there is none.
func (p *pool) full(want *claim) bool { return want.place && p.places > 0 && p.taken >= p.places }

// mayPass reports whether a request may pass the queue: it is short, wants no place, and half of
// the pool is free.
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

// admit admits waiting requests, one of each application in turn. It stops at an application whose
// first request needs bytes that others hold, or large requests would never be admitted. It skips
// one that waits for bytes of its own, or for a place.
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

// prune removes an application that has nothing in the pool.
func (p *pool) prune(app string, t *tenant) {
	if t.held == 0 && t.taken == 0 && len(t.waiting) == 0 {
		delete(p.apps, app)
	}
}

// reservation is the share of an Admission's pools that one request holds.
type reservation struct {
	admission *Admission
	app       string
	// address is the one that is bounded, empty for none.
	address string
	// reading, working and sending are the bytes that it holds in each pool; place and processor
	// are set if it has these.
	reading, working, sending int64
	place, processor          bool
	// held is set if it waited because its application sent more than its part, heldAddress because its address did.
	held, heldAddress bool
}

// assign sets the application of the request, which is known late if the key stands in the body. The
// bytes read until then are charged to it.
func (r *reservation) assign(ctx context.Context, app string) error {
	if r.admission == nil || r.app == app {
		return nil
	}
	admission, read := r.admission, r.reading
	r.release()
	r.admission, r.app = admission, app
	return r.forBody(ctx, read)
}

// forBody takes bytes for a body as it came.
func (r *reservation) forBody(ctx context.Context, bytes int64) error {
	if r.admission == nil {
		return nil
	}
	bytes = min(bytes, r.admission.reading.budget-r.reading)
	if bytes <= 0 {
		return nil
	}
	err := r.admission.reading.acquire(ctx, r.app, &claim{bytes: bytes})
	if err == nil {
		r.reading += bytes
	}
	return err
}

// forWork takes bytes for the decoded request and, if place is set, a place and a processor.
func (r *reservation) forWork(ctx context.Context, bytes int64, place bool) error {
	if r.admission == nil {
		return nil
	}
	bytes = min(bytes, r.admission.working.budget)
	if err := r.admission.working.acquire(ctx, r.app, &claim{bytes: bytes, place: place}); err != nil {
		return err
	}
	r.working, r.place = bytes, place
	if !place || r.admission.processors == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, admissionTime)
	defer cancel()
	if err := r.admission.processors.Take(ctx); err != nil {
		return errBusy()
	}
	r.processor = true
	return nil
}

// grow takes more bytes for the decoded request.
func (r *reservation) grow(bytes int64) error {
	if r.admission == nil {
		return nil
	}
	bytes = min(bytes, r.admission.working.budget-r.working)
	if bytes <= 0 {
		return nil
	}
	if !r.admission.working.grow(r.app, bytes) {
		return errBusy()
	}
	r.working += bytes
	return nil
}

// releaseProcessor returns the place and the processor.
func (r *reservation) releaseProcessor() {
	if r.processor {
		r.admission.processors.Give()
		r.processor = false
	}
	if r.place {
		r.admission.working.release(r.app, 0, true)
		r.place = false
	}
}

// release returns everything.
func (r *reservation) release() {
	if r.admission != nil {
		r.releaseProcessor()
		if r.sending > 0 {
			r.admission.sending.release(r.app, r.sending, false)
		}
		if r.working > 0 {
			r.admission.working.release(r.app, r.working, false)
		}
		if r.reading > 0 {
			r.admission.reading.release(r.app, r.reading, false)
		}
	}
	*r = reservation{}
}
