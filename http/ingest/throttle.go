package ingest

import (
	"context"
	"maps"
	"sync"
	"time"
)

// throttle delays applications that send more than their part while the node stores less than it
// takes in. Records of a shard are stored in the order of the log, so all its applications wait for the
// records of one that sends too much. An application that sends alone to its shard is not delayed.
type throttle struct {
	sent *sentBytes
	// lag returns the age of the oldest record of a shard that is not stored.
	lag func(shard int) time.Duration
	// maxLag is how old that record may be before an application is delayed. Half of it suffices for
	// an application that sent throttleMuch of what is not stored.
	maxLag time.Duration
	now    func() time.Time

	mu sync.Mutex
	// refreshed is when held was computed.
	refreshed time.Time
	held      map[string]bool
	// shards are those to which applications send; of those that are missing it is 0.
	shards map[string]int
}

const (
	// throttleMuch is the number of bytes that a node stores in a fraction of a second: an
	// application with less does not keep others waiting for long.
	throttleMuch = 4 << 20
	// throttleLook is how often a waiting request checks again.
	throttleLook = 20 * time.Millisecond
)

// wait waits until an application may send to its shard. It reports whether the application was held back.
func (t *throttle) wait(ctx context.Context, app string, shard int) (held bool, err error) {
	if t == nil {
		return false, nil
	}
	t.note(app, shard)
	if !t.holds(app) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, admissionTime)
	defer cancel()
	look := time.NewTicker(throttleLook)
	defer look.Stop()
	for t.holds(app) {
		select {
		case <-look.C:
		case <-ctx.Done():
			return true, errBusy()
		}
	}
	return true, nil
}

// note notes the shard of an application.
func (t *throttle) note(app string, shard int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shards[app] == shard {
		return
	}
	if t.shards == nil {
		t.shards = map[string]int{}
	}
	t.shards[app] = shard
}

// holds reports whether an application is delayed.
func (t *throttle) holds(app string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := t.now(); now.Sub(t.refreshed) >= throttleLook/2 {
		t.refreshed = now
		t.refresh()
	}
	return t.held[app]
}

// refresh computes which applications are delayed: those with more than an equal part of the
// bytes of their shard that are not stored.
func (t *throttle) refresh() {
	t.held = map[string]bool{}
	known, lately := map[int]bool{0: true}, t.sent.known()
	maps.DeleteFunc(t.shards, func(app string, _ int) bool { return !lately[app] })
	for _, shard := range t.shards {
		known[shard] = true
	}
	for shard := range known {
		t.refreshShard(shard, t.lag(shard))
	}
}

// refreshShard is refresh of the applications of a shard, whose oldest record is so old.
func (t *throttle) refreshShard(shard int, lag time.Duration) {
	parts, _ := t.sent.lately(max(lag, t.maxLag/2))
	maps.DeleteFunc(parts, func(app string, _ int64) bool { return t.shards[app] != shard })
	if lag <= t.maxLag/2 || len(parts) < 2 {
		return
	}
	total := int64(0)
	for _, bytes := range parts {
		total += bytes
	}
	for app, bytes := range parts {
		t.held[app] = bytes > total/int64(len(parts)) && (lag > t.maxLag || bytes > throttleMuch)
	}
}

const (
	// The sent bytes are counted in sentSlots slots of sentSlot each.
	sentSlot  = 100 * time.Millisecond
	sentSlots = 64
)

// sentBytes counts the bytes that applications sent in the latest slots of time.
type sentBytes struct {
	now func() time.Time

	mu   sync.Mutex
	apps map[string]*sentByApp
}

// sentByApp holds the bytes of one application, and the numbers of the slots in which it sent them.
type sentByApp struct {
	bytes [sentSlots]int64
	slots [sentSlots]int64
}

func newSentBytes(now func() time.Time) *sentBytes {
	return &sentBytes{now: now, apps: map[string]*sentByApp{}}
}

// add notes what an application sent.
func (s *sentBytes) add(app string, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.apps[app]
	if sent == nil {
		sent = &sentByApp{}
		s.apps[app] = sent
	}
	slot := s.slot()
	at := slot % sentSlots
	if sent.slots[at] != slot {
		sent.slots[at], sent.bytes[at] = slot, 0
	}
	sent.bytes[at] += bytes
}

func (s *sentBytes) slot() int64 { return s.now().UnixMilli() / sentSlot.Milliseconds() }

// known returns the applications that sent in the latest slots, or little before.
func (s *sentBytes) known() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	apps := make(map[string]bool, len(s.apps))
	for app := range s.apps {
		apps[app] = true
	}
	return apps
}

// lately returns what each application sent in the latest time, and the sum. Applications that sent nothing
// are left out.
func (s *sentBytes) lately(latest time.Duration) (parts map[string]int64, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	present := s.slot()
	first := present - min(sentSlots-1, int64(latest/sentSlot))
	parts = map[string]int64{}
	for app, sent := range s.apps {
		last := int64(0)
		for at, slot := range sent.slots {
			if slot >= first {
				parts[app] += sent.bytes[at]
			}
			last = max(last, slot)
		}
		total += parts[app]
		if last < present-sentSlots {
			delete(s.apps, app)
		}
	}
	return parts, total
}

// crowding returns the applications that lately sent more than an equal part, and much, while others sent too, and the rate of
// the one that sent most, in bytes a second.
func (s *sentBytes) crowding() (who map[string]bool, most float64) {
	parts, total := s.lately(paceTime)
	who = map[string]bool{}
	for app, bytes := range parts {
		most = max(most, float64(bytes)/paceTime.Seconds())
		who[app] = len(parts) > 1 && bytes > paceMuch && bytes > total/int64(len(parts))
	}
	return who, most
}

// forLog waits until so many bytes may go to the log, to the partitions of a shard.
func (r *reservation) forLog(ctx context.Context, shard int, bytes int64) error {
	if r.admission == nil {
		return nil
	}
	held, err := r.admission.throttle.wait(ctx, r.app, shard)
	if r.held = held; err != nil {
		return err
	}
	if r.address != "" {
		if r.heldAddress, err = r.admission.addressPace.wait(ctx, r.address, bytes); err != nil {
			return err
		}
	}
	want := &claim{bytes: bytes}
	paced, err := r.admission.pace.wait(ctx, r.app, bytes)
	if r.held = held || paced; err != nil {
		return err
	}
	if paced {
		want.share = paceShare
	}
	if err := r.admission.sending.acquire(ctx, r.app, want); err != nil {
		return err
	}
	r.sending = bytes
	if r.admission.sent != nil {
		r.admission.sent.add(r.app, bytes)
	}
	if r.address != "" && r.admission.fromAddresses != nil {
		r.admission.fromAddresses.add(r.address, r.app, bytes)
	}
	return nil
}
