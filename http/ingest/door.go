package ingest

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"svc"
)

// Door bounds the memory and the processors that ingest requests take of a node, and divides
// both fairly between applications. A request passes three rooms: in the first its body is
// read as it came, in the second it is inflated, decoded and judged, and in the third it waits
// for the log. The first two have a budget of bytes, of which one application gets half at
// most. The second has fewer places than the node has processors, so that its other work goes
// on. In the third an application gets only as much as keeps the log busy, so that requests of
// others wait a short time. A nil door bounds nothing.
type Door struct {
	reading, working, sending *room
	// processors are taken by requests that have a place; nil where there are always enough.
	processors Processors
	// pace refuses applications that send more than their part while the store lags; nil
	// refuses none.
	pace *pace
}

const (
	// readingShare is the part of the budget that is for bodies as they came.
	readingShare = 4
	// doorTime is how long a request waits for one room, as long as for the log.
	doorTime = 4 * time.Second
	// smallEntry is the length of requests that need not queue.
	smallEntry = 1 << 20
	// sendingShare is how much of an application waits for the log; a request that is
	// longer goes alone.
	sendingShare = 512 << 10
)

// Processors divides the node's processors between all work that keeps one busy for
// milliseconds. Work of microseconds does not ask.
type Processors interface {
	// Take waits for a processor, first come first served.
	Take(ctx context.Context) error
	// Give gives it back.
	Give()
}

// Share makes requests that have a place wait for a processor as well.
func (d *Door) Share(processors Processors) { d.processors = processors }

// NewDoor returns a door for a budget of bytes.
func NewDoor(budget int64) *Door {
	reading := budget / readingShare
	working := budget - reading
	return &Door{
		reading: newRoom(reading, reading/2, 0),
		working: newRoom(working, working/2, max(1, runtime.GOMAXPROCS(0)/2)),
		sending: newRoom(math.MaxInt64, sendingShare, 0),
	}
}

// errCrowded is the refusal of a request that found no room.
func errCrowded() error {
	return &svc.Error{
		Code: svc.CodeUnavailable, Accepted: svc.AcceptedNone, RetryAfter: collectRetry,
		Message: "The service is taking in as much as it can hold; nothing was accepted.",
	}
}

// room bounds the bytes and the places that requests hold. Waiting requests are let in
// application by application.
type room struct {
	// budget is for all, share for one application; one that has nothing may exceed its share.
	budget, share int64
	places        int // 0 for as many as there are requests
	// wait is how long a request waits.
	wait time.Duration

	mu    sync.Mutex
	held  int64
	taken int
	apps  map[string]*guest
	// queue has the applications with waiting requests, the next one first.
	queue []*guest
}

func newRoom(budget, share int64, places int) *room {
	return &room{budget: budget, share: share, places: places, wait: doorTime, apps: map[string]*guest{}}
}

// guest is an application in a room.
type guest struct {
	held    int64
	taken   int
	waiting []*entry
}

// entry is a request for bytes, and for a place where place is set.
type entry struct {
	bytes int64
	place bool
	// let is closed when the request is let in.
	let chan struct{}
}

// enter waits for room and takes it.
func (r *room) enter(ctx context.Context, app string, want *entry) error {
	r.mu.Lock()
	g := r.guest(app)
	if (len(r.queue) == 0 || r.unhurried(want)) && r.fits(g, want) {
		r.take(g, want)
		r.mu.Unlock()
		return nil
	}
	want.let = make(chan struct{})
	if g.waiting = append(g.waiting, want); len(g.waiting) == 1 {
		r.queue = append(r.queue, g)
	}
	r.admit()
	r.mu.Unlock()
	timer := time.NewTimer(r.wait)
	defer timer.Stop()
	select {
	case <-want.let:
		return nil
	case <-ctx.Done():
	case <-timer.C:
	}
	return r.giveUp(app, g, want)
}

// giveUp ends the wait of a request, unless it was let in meanwhile.
func (r *room) giveUp(app string, g *guest, want *entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.Index(g.waiting, want)
	if at < 0 {
		return nil
	}
	if g.waiting = slices.Delete(g.waiting, at, at+1); len(g.waiting) == 0 {
		r.queue = slices.DeleteFunc(r.queue, func(other *guest) bool { return other == g })
	}
	r.forget(app, g)
	r.admit()
	return errCrowded()
}

// grow takes bytes for a request that is in the room, and returns false where there are none:
// a request that holds a place must not wait.
func (r *room) grow(app string, bytes int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.guest(app)
	want := &entry{bytes: bytes}
	if r.held+bytes > r.budget || r.crowds(g, want) {
		r.forget(app, g)
		return false
	}
	r.take(g, want)
	return true
}

func (r *room) guest(app string) *guest {
	g := r.apps[app]
	if g == nil {
		g = &guest{}
		r.apps[app] = g
	}
	return g
}

// fits reports whether an application's request may be let in.
func (r *room) fits(g *guest, want *entry) bool {
	return r.held+want.bytes <= r.budget && !r.crowds(g, want) && !r.full(want)
}

// full reports whether a request wants a place and there is none.
func (r *room) full(want *entry) bool { return want.place && r.places > 0 && r.taken >= r.places }

// unhurried reports whether a request may pass those that wait: it is short, wants no place, and
// leaves half of the room free.
func (r *room) unhurried(want *entry) bool {
	return !want.place && want.bytes <= smallEntry && r.held < r.budget/2
}

// crowds reports whether an application would have more than its share.
func (r *room) crowds(g *guest, want *entry) bool { return g.held > 0 && g.held+want.bytes > r.share }

func (r *room) take(g *guest, want *entry) {
	r.held += want.bytes
	g.held += want.bytes
	if want.place {
		r.taken++
		g.taken++
	}
}

// admit lets waiting requests in, one of each application in turn. An application whose first
// request must wait for the bytes of others is waited for, or large requests would never be
// let in; one that waits for its own, or for a place, is passed over.
func (r *room) admit() {
	for at := 0; at < len(r.queue); {
		g := r.queue[at]
		want := g.waiting[0]
		switch {
		case r.crowds(g, want), r.full(want):
			at++
			continue
		case !r.fits(g, want):
			return
		}
		r.take(g, want)
		close(want.let)
		g.waiting = g.waiting[1:]
		r.queue = slices.Delete(r.queue, at, at+1)
		if len(g.waiting) > 0 {
			r.queue = append(r.queue, g)
		}
	}
}

// leave gives bytes back, and a place.
func (r *room) leave(app string, bytes int64, place bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.apps[app]
	r.held -= bytes
	g.held -= bytes
	if place {
		r.taken--
		g.taken--
	}
	r.forget(app, g)
	r.admit()
}

// forget drops an application that has nothing in the room.
func (r *room) forget(app string, g *guest) {
	if g.held == 0 && g.taken == 0 && len(g.waiting) == 0 {
		delete(r.apps, app)
	}
}

// stay counts what a request holds in the rooms of a door.
type stay struct {
	door *Door
	app  string
	// reading, working and sending are the bytes that it holds, place and processor
	// say that it has these.
	reading, working, sending int64
	place, processor          bool
}

// belong says whose request it is, which is known only later where the key stands in
// the body. The bytes read until then are counted again, for the application.
func (s *stay) belong(ctx context.Context, app string) error {
	if s.door == nil || s.app == app {
		return nil
	}
	door, read := s.door, s.reading
	s.end()
	s.door, s.app = door, app
	return s.read(ctx, read)
}

// read takes bytes for a body as it came.
func (s *stay) read(ctx context.Context, bytes int64) error {
	if s.door == nil {
		return nil
	}
	bytes = min(bytes, s.door.reading.budget-s.reading)
	if bytes <= 0 {
		return nil
	}
	err := s.door.reading.enter(ctx, s.app, &entry{bytes: bytes})
	if err == nil {
		s.reading += bytes
	}
	return err
}

// work takes bytes for what a request becomes, and a processor where it is worth one.
func (s *stay) work(ctx context.Context, bytes int64, place bool) error {
	if s.door == nil {
		return nil
	}
	bytes = min(bytes, s.door.working.budget)
	if err := s.door.working.enter(ctx, s.app, &entry{bytes: bytes, place: place}); err != nil {
		return err
	}
	s.working, s.place = bytes, place
	if !place || s.door.processors == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, doorTime)
	defer cancel()
	if err := s.door.processors.Take(ctx); err != nil {
		return errCrowded()
	}
	s.processor = true
	return nil
}

// grow takes more bytes for what a request becomes.
func (s *stay) grow(bytes int64) error {
	if s.door == nil {
		return nil
	}
	bytes = min(bytes, s.door.working.budget-s.working)
	if bytes <= 0 {
		return nil
	}
	if !s.door.working.grow(s.app, bytes) {
		return errCrowded()
	}
	s.working += bytes
	return nil
}

// rest gives the processor back.
func (s *stay) rest() {
	if s.processor {
		s.door.processors.Give()
		s.processor = false
	}
	if s.place {
		s.door.working.leave(s.app, 0, true)
		s.place = false
	}
}

// send waits until so many bytes may go to the log.
func (s *stay) send(ctx context.Context, bytes int64) error {
	if s.door == nil {
		return nil
	}
	if err := s.door.pace.wait(ctx, s.app); err != nil {
		return err
	}
	err := s.door.sending.enter(ctx, s.app, &entry{bytes: bytes})
	if err == nil {
		s.sending = bytes
		s.door.pace.add(s.app, bytes)
	}
	return err
}

// end gives everything back.
func (s *stay) end() {
	if s.door != nil {
		s.rest()
		if s.sending > 0 {
			s.door.sending.leave(s.app, s.sending, false)
		}
		if s.working > 0 {
			s.door.working.leave(s.app, s.working, false)
		}
		if s.reading > 0 {
			s.door.reading.leave(s.app, s.reading, false)
		}
	}
	*s = stay{}
}
