package alerting

import (
	"sync"
	"time"

	"svc/actors/grain"
	"svc/domain/monitor"
)

// PrefetchedStates caches the monitors that a node read when it began to own partitions. Each is given to the first
// activation of its monitor, so that thousands that are due within a second do not read the store again.
//
// An entry is as good as a load. No other node writes the monitors that this node owns in the generation of the
// reading. A monitor that this node has loaded or stored since the reading began is not given out. Entries are dropped
// once they are as old as a load may be. A nil PrefetchedStates gives out nothing.
type PrefetchedStates struct {
	// Generation returns the current generation of the ownership, and whether there is one.
	Generation func() (int32, bool)

	mu         sync.Mutex
	generation int32
	read       time.Time
	monitors   map[string]monitor.StoredMonitor // by owner
	// touched holds the owners that were loaded or stored since a reading began; it is nil if no reading is under way.
	touched map[string]bool
}

// begin marks the beginning of a reading. It returns the function that takes the result.
func (f *PrefetchedStates) begin(now time.Time) (take func(map[string]monitor.StoredMonitor)) {
	if f == nil {
		return func(map[string]monitor.StoredMonitor) {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	generation, owned := f.Generation()
	f.monitors, f.touched = nil, map[string]bool{}
	return func(monitors map[string]monitor.StoredMonitor) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for owner := range f.touched {
			delete(monitors, owner)
		}
		f.touched = nil
		if owned {
			f.generation, f.read, f.monitors = generation, now, monitors
		}
	}
}

// touch drops the entry of an owner.
func (f *PrefetchedStates) touch(owner string) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(owner)
}

func (f *PrefetchedStates) note(owner string) {
	delete(f.monitors, owner)
	if f.touched != nil {
		f.touched[owner] = true
	}
}

// hand returns the entry of an owner and removes it.
func (f *PrefetchedStates) hand(owner string, now time.Time) (monitor.StoredMonitor, bool) {
	if f == nil {
		return monitor.StoredMonitor{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Sub(f.read) >= grain.IOTime {
		f.monitors = nil
	}
	found, known := f.monitors[owner]
	generation, owned := f.Generation()
	f.note(owner)
	return found, known && owned && generation == f.generation
}
