package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pace bounds the rate of an application, or of an address, that sends much while others send too, so that requests of
// the others do not wait for a processor. The rate is found by trial: while the processors are short, a sleeping
// goroutine wakes late. The rate falls while many wake late, and rises otherwise. A sender that sends alone, or little,
// is not delayed.
type pace struct {
	sent senders
	now  func() time.Time
	// nap sleeps and returns the delay of its end.
	nap func(ctx context.Context, length time.Duration) time.Duration
	// least is the lowest rate in bytes a second, because other work may occupy the processors.
	least float64
	// watching is true while a waiting request measures delays for all.
	watching atomic.Bool

	mu sync.Mutex
	// refreshed is the time at which crowding was computed.
	refreshed time.Time
	crowding  map[string]bool
	// most is the rate of the busiest sender, in bytes a second.
	most float64
	// rate is in bytes a second, for each paced sender.
	rate float64
	// free is the time at which each of these may send again.
	free map[string]time.Time
	// began is the start of the present window. naps counts the naps in it, and late the naps that ended late.
	began      time.Time
	naps, late int
}

// senders counts the bytes of senders that are paced individually.
type senders interface {
	// crowding returns the senders that recently sent more than an equal part, and much, while others sent too. most is
	// the highest rate of a sender, in bytes a second.
	crowding() (who map[string]bool, most float64)
}

const (
	// paceLeast is the lowest rate for each processor, in bytes a second.
	paceLeast = 2 << 20
	// paceShare is the number of bytes of a paced application that may wait for the log.
	paceShare = 64 << 10
	// paceLook is the interval at which the paced senders are computed, from the bytes of the last paceTime.
	paceLook, paceTime = 10 * time.Millisecond, 2 * time.Second
	// paceMuch is the number of bytes in paceTime up to which a sender is not paced.
	paceMuch = 512 << 10
	// paceWindow is the time for which naps are counted before the rate changes.
	paceWindow = 50 * time.Millisecond
	// paceNap is the length of a nap, and the minimum delay of a paced request.
	paceNap = time.Millisecond
	// paceLate is the delay from which a nap ended late. Timers of an idle machine are up to a millisecond late.
	paceLate = 2 * time.Millisecond
	// paceShort is the divisor of naps: if more than one in paceShort ended late, the processors are short.
	paceShort = 20
	// paceFall and paceRise are the factors by which the rate changes after a window.
	paceFall, paceRise = 0.8, 1.05
	// paceBurst is the length of a pause for which a sender may catch up at once.
	paceBurst = 20 * time.Millisecond
)

// newPace returns the pace of a node with a number of processors.
func newPace(sent senders, processors int, now func() time.Time) *pace {
	p := &pace{
		sent: sent, now: now, least: paceLeast * float64(processors),
		crowding: map[string]bool{}, free: map[string]time.Time{},
	}
	p.nap = p.sleep
	return p
}

// sleep sleeps for a length or until ctx ends, and returns the delay of its end.
func (p *pace) sleep(ctx context.Context, length time.Duration) time.Duration {
	began := p.now()
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return p.now().Sub(began) - length
	case <-ctx.Done():
		return 0
	}
}

// wait waits until a sender may send a number of bytes. It reports whether the sender is paced.
func (p *pace) wait(ctx context.Context, sender string, bytes int64) (paced bool, err error) {
	if p == nil || !p.crowds(sender) {
		return false, nil
	}
	at, ok := p.reserve(sender, bytes)
	for left := paceNap; left > 0 && ctx.Err() == nil; left = at.Sub(p.now()) {
		if p.watching.CompareAndSwap(false, true) {
			p.observe(p.nap(ctx, paceNap))
			p.watching.Store(false)
		} else {
			p.nap(ctx, left)
		}
	}
	if !ok || ctx.Err() != nil {
		return true, errBusy()
	}
	return true, nil
}

// crowds reports whether a sender sends more than an equal part, and much, while others send too.
func (p *pace) crowds(sender string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.now(); now.Sub(p.refreshed) >= paceLook {
		p.refreshed = now
		p.crowding, p.most = p.sent.crowding()
	}
	return p.crowding[sender]
}

// reserve returns the time at which a sender may send a number of bytes. If that is more than admissionTime away, it
// returns false and the time at which to refuse.
func (p *pace) reserve(sender string, bytes int64) (at time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.began) > paceTime { // No sender was paced for paceTime.
		p.rate = max(p.least, p.most)
		p.began, p.naps, p.late = now, 0, 0
		clear(p.free)
	}
	at = p.free[sender]
	if earliest := now.Add(-paceBurst); at.Before(earliest) {
		at = earliest
	}
	if limit := now.Add(admissionTime); at.After(limit) {
		return limit, false
	}
	p.free[sender] = at.Add(time.Duration(float64(bytes) / p.rate * float64(time.Second)))
	return at, true
}

// observe counts a nap, and sets the rate at the end of a window.
func (p *pace) observe(delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.naps++
	if delay > paceLate {
		p.late++
	}
	now := p.now()
	if now.Sub(p.began) < paceWindow {
		return
	}
	if p.late*paceShort > p.naps {
		p.rate = max(p.least, p.rate*paceFall)
	} else {
		p.rate = min(p.rate*paceRise, max(p.least, 2*p.most))
	}
	p.began, p.naps, p.late = now, 0, 0
}
