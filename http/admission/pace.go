package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pace bounds the rate of an application, or of an address, that sends much while others send too, so that requests of these
// do not wait for a processor. The rate is found by trial: a goroutine that slept continues late where the processors
// are short, so the rate falls while many continue late, and rises otherwise. Who sends alone,
// or little, is not delayed.
type pace struct {
	sent senders
	now  func() time.Time
	// nap sleeps and returns how late it continued.
	nap func(ctx context.Context, length time.Duration) time.Duration
	// least is the lowest rate in bytes a second; what keeps the processors busy may be something else.
	least float64
	// watching is set while a waiting request measures delays for all.
	watching atomic.Bool

	mu sync.Mutex
	// refreshed is when crowding was computed.
	refreshed time.Time
	crowding  map[string]bool
	// most is the rate of the one that sends most, in bytes a second.
	most float64
	// rate is in bytes a second, of each that is paced.
	rate float64
	// free is when each of these may send again.
	free map[string]time.Time
	// began is when the present window began. In it naps were taken, late of which ended late.
	began      time.Time
	naps, late int
}

// senders knows what each of those sent that are paced one by one.
type senders interface {
	// crowding returns who lately sent more than an equal part, and much, while others sent too, and the rate of the one
	// that sent most, in bytes a second.
	crowding() (who map[string]bool, most float64)
}

const (
	// paceLeast is the lowest rate for each processor, in bytes a second.
	paceLeast = 2 << 20
	// paceShare is how many bytes of an application that is paced may wait for the log.
	paceShare = 64 << 10
	// paceLook is how often it is computed who is paced, from what was sent in paceTime.
	paceLook, paceTime = 10 * time.Millisecond, 2 * time.Second
	// paceMuch is the number of bytes in paceTime up to which nobody is paced.
	paceMuch = 512 << 10
	// paceWindow is how long naps are counted before the rate changes.
	paceWindow = 50 * time.Millisecond
	// paceNap is the length of a nap, and the least delay of a request that is paced.
	paceNap = time.Millisecond
	// paceLate is the delay from which a nap ended late. Timers of an idle machine are up to a millisecond late.
	paceLate = 2 * time.Millisecond
	// paceShort is the part of naps that ended late, one in so many, from which the processors are short.
	paceShort = 20
	// paceFall and paceRise are the factors by which the rate changes after a window.
	paceFall, paceRise = 0.8, 1.05
	// paceBurst is the time for which a sender that paused may send at once what it did not send then.
	paceBurst = 20 * time.Millisecond
)

// newPace returns the pace of a node that has so many processors.
func newPace(sent senders, processors int, now func() time.Time) *pace {
	p := &pace{
		sent: sent, now: now, least: paceLeast * float64(processors),
		crowding: map[string]bool{}, free: map[string]time.Time{},
	}
	p.nap = p.sleep
	return p
}

// sleep sleeps, or until ctx ends, and returns how late it continued.
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

// wait waits until a sender may send so many bytes. It reports whether it is paced.
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

// reserve returns when a sender may send so many bytes. If that is too far away it returns false, and
// the time at which to refuse.
func (p *pace) reserve(sender string, bytes int64) (at time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.began) > paceTime { // nobody was paced for so long
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
