package process

import (
	"sync"
	"time"
)

const (
	// spareThreads is how many threads run Go code beyond the number of processors while long work is done. The scheduler of
	// the runtime lets a goroutine run for ten milliseconds and looks at the network only when it finds
	// nothing else to do; with a thread to spare, the operating system decides which thread runs,
	// and prefers one that has slept. Short work alone takes less of the processors without them
	// (docs/decisions/0011-share-a-node-between-applications.md).
	spareThreads = 2
	// calmTime is how long they stay after the last long work. A change of their number stops all Go code for some microseconds.
	calmTime = 100 * time.Millisecond
)

// threads sets the number of threads by whether long work is done.
type threads struct {
	set func(threads int) (before int)

	mu    sync.Mutex
	usual int // without long work; zero leaves the number alone
	long  int // pieces of long work that are being done
	more  bool
	calm  *time.Timer

	// setting is held while the number is set, which waits for a collection that is under way.
	setting sync.Mutex
}

// from begins with the usual number of threads.
func (t *threads) from(usual int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usual = usual
}

// begin notes that a piece of long work is done from now on. It waits for nothing.
func (t *threads) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.long++
	if t.usual > 0 && !t.more {
		t.more = true
		go t.apply()
	}
}

// end notes that a piece of long work has ended.
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

// rest gives the spare threads up unless long work has begun again.
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

// apply sets the number that is wanted now, whoever asked for it.
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
