package admission

import (
	"sync"
	"time"
)

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

// sentByApp contains the bytes of one application, and the numbers of the slots in which it sent them.
type sentByApp struct {
	bytes [sentSlots]int64
	slots [sentSlots]int64
}

func newSentBytes(now func() time.Time) *sentBytes {
	return &sentBytes{now: now, apps: map[string]*sentByApp{}}
}

// add counts bytes that an application sent.
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

// known returns the applications that sent in the latest slots, or shortly before.
func (s *sentBytes) known() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	apps := make(map[string]bool, len(s.apps))
	for app := range s.apps {
		apps[app] = true
	}
	return apps
}

// lately returns the bytes that each application sent in the latest time, and the sum. Applications that sent nothing
// are omitted.
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

// crowding returns the applications that recently sent more than an equal part, and much, while others sent too. most
// is the highest rate of an application, in bytes a second.
func (s *sentBytes) crowding() (who map[string]bool, most float64) {
	parts, total := s.lately(paceTime)
	who = map[string]bool{}
	for app, bytes := range parts {
		most = max(most, float64(bytes)/paceTime.Seconds())
		who[app] = len(parts) > 1 && bytes > paceMuch && bytes > total/int64(len(parts))
	}
	return who, most
}
