package process

import (
	"os"
	"runtime"
	"sync"
	"time"
)

const (
	// spareThreads is how many threads run Go code beyond the number of processors while long work is done. The scheduler of
	// the runtime lets a goroutine run for ten milliseconds and looks at the network only when it finds
	// nothing else to do; with a thread to spare, the operating system decides which thread runs,
	// and prefers one that has slept. Short work alone takes less of the processors without them (D657).
	spareThreads = 2
	// calmTime is how long they stay after the last long work. A change of their number stops all Go code for some microseconds.
	calmTime = 100 * time.Millisecond
)

// threads is how many threads run Go code: those of the whole process.
var threads = sharing{set: runtime.GOMAXPROCS}

// SpareThreads has more threads run Go code while long work is done, unless the operator set a number of threads.
func SpareThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		threads.from(runtime.GOMAXPROCS(0))
	}
}

// sharing sets the number of threads by whether long work is done.
type sharing struct {
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
func (s *sharing) from(usual int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usual = usual
}

// begin notes that a piece of long work is done from now on. It waits for nothing.
func (s *sharing) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.long++
	if s.usual > 0 && !s.more {
		s.more = true
		go s.apply()
	}
}

// end notes that a piece of long work has ended.
func (s *sharing) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.long--; s.long > 0 || !s.more {
		return
	}
	if s.calm == nil {
		s.calm = time.AfterFunc(calmTime, s.rest)
	} else {
		s.calm.Reset(calmTime)
	}
}

// rest gives the spare threads up unless long work has begun again.
func (s *sharing) rest() {
	s.mu.Lock()
	calm := s.long == 0
	if calm {
		s.more = false
	}
	s.mu.Unlock()
	if calm {
		s.apply()
	}
}

// apply sets the number that is wanted now, whoever asked for it.
func (s *sharing) apply() {
	s.setting.Lock()
	defer s.setting.Unlock()
	s.mu.Lock()
	wanted := s.usual
	if s.more {
		wanted += spareThreads
	}
	s.mu.Unlock()
	s.set(wanted)
}
