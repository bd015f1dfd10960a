package process

import (
	"sync"
	"time"
)

const (
	// spareThreads is the number of threads for Go code beyond the number of processors during long work. The Go
	// scheduler lets a goroutine run for ten milliseconds and polls the network only when it has nothing else to do.
	// With a spare thread, the operating system chooses the thread to run, and prefers one that has slept. Without long
	// work, fewer threads use less processor time (docs/decisions/0011-share-a-node-between-applications.md).
	spareThreads = 2
	// calmTime is how long they remain after the last long work. A change of their number stops all Go code for some
	// microseconds.
	calmTime = 100 * time.Millisecond
)

// threads sets the number of threads depending on long work.
type threads struct {
	set func(threads int) (before int)

	mu    sync.Mutex
	usual int // without long work; zero leaves the number unchanged
	long  int // pieces of long work in progress
	more  bool
	calm  *time.Timer

	// setting is held while the number is set, which waits for a running collection.
	setting sync.Mutex
}

// from starts with the usual number of threads.
func (t *threads) from(usual int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usual = usual
}

// begin records the beginning of a piece of long work. It does not block.
func (t *threads) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.long++
	if t.usual > 0 && !t.more {
		t.more = true
		go t.apply()
	}
}

// end records the end of a piece of long work.
func (t *threads) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.long--; t.long > 0 || !t.more {
		return
	}
	if t.calm == nil {
		t.calm = time.AfterFunc(calmTime, t.rest)
	} else {
		t.calm.Reset(calmTime)
	}
}

// rest releases the spare threads unless long work has begun again.
func (t *threads) rest() {
	t.mu.Lock()
	calm := t.long == 0
	if calm {
		t.more = false
	}
	t.mu.Unlock()
	if calm {
		t.apply()
	}
}

// apply sets the number that is wanted now, regardless of the caller.
func (t *threads) apply() {
	t.setting.Lock()
	defer t.setting.Unlock()
	t.mu.Lock()
	wanted := t.usual
	if t.more {
		wanted += spareThreads
	}
	t.mu.Unlock()
	t.set(wanted)
}
