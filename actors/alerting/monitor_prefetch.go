package alerting

import (
	"sync"
	"time"

	"svc"
	"svc/actors/grain"
)

// PrefetchedStates is what a node found stored of monitors when it began to own partitions. Each is
// handed to the activation that is told first, so that thousands that are due within a second
// do not ask the store for what was just read.
//
// It is as good as a load at that time: nobody else writes what this node owns in the
// generation that it was read in, and what this node has loaded or stored itself since the
// reading began is not handed out. It is forgotten once it is as old as a load may be. A nil
// one hands out nothing.
type PrefetchedStates struct {
	// Generation returns the present generation of the ownership, and whether there is one.
	Generation func() (int32, bool)

	mu         sync.Mutex
	generation int32
	read       time.Time
	monitors   map[string]svc.StoredMonitor // by owner
	// touched are the owners that were loaded or stored since a reading began, nil where
	// none is under way.
	touched map[string]bool
}

// begin notes that the store is read from now on, and returns what takes what was found.
func (f *PrefetchedStates) begin(now time.Time) (take func(map[string]svc.StoredMonitor)) {
	if f == nil {
		return func(map[string]svc.StoredMonitor) {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	generation, owned := f.Generation()
	f.monitors, f.touched = nil, map[string]bool{}
	return func(monitors map[string]svc.StoredMonitor) {
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

// touch forgets an owner.
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

// hand returns what was found of an owner, once.
func (f *PrefetchedStates) hand(owner string, now time.Time) (svc.StoredMonitor, bool) {
	if f == nil {
		return svc.StoredMonitor{}, false
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
