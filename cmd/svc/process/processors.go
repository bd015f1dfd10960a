package process

import (
	"context"
	"os"
	"runtime"
)

// Processors are shared by what keeps one busy for milliseconds: reading long requests and folding records.
// There is one fewer than the machine has, but one at least, so that short work does not wait for them,
// however many they are. Waiting work is served in the order of arrival, so folding, which waits once for
// every partition, goes before taking in more.
type Processors struct {
	places  chan struct{}
	threads threads
}

// NewProcessors returns the processors of the machine, without one.
func NewProcessors() *Processors {
	return &Processors{places: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)), threads: threads{set: runtime.GOMAXPROCS}}
}

// SpareThreads has more threads of the whole process run Go code while long work is done, unless the operator set a number of threads.
func (p *Processors) SpareThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		p.threads.from(runtime.GOMAXPROCS(0))
	}
}

// Count is how many there are.
func (p *Processors) Count() int { return cap(p.places) }

// Take waits for a processor.
func (p *Processors) Take(ctx context.Context) error {
	select {
	case p.places <- struct{}{}:
		p.threads.begin()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Give gives it back.
func (p *Processors) Give() {
	p.threads.end()
	<-p.places
}
