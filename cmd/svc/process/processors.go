package process

import (
	"context"
	"os"
	"runtime"
)

// Processors are shared by work that keeps a processor busy for milliseconds: reading long requests and folding
// records. There is one fewer than the machine has, but at least one, so that short work does not wait for any amount
// of long work. Waiting work is served in the order of arrival. Folding waits only once for all partitions, so it
// precedes further intake.
type Processors struct {
	places  chan struct{}
	threads threads
}

// NewProcessors returns the processors of the machine except one.
func NewProcessors() *Processors {
	return &Processors{places: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)), threads: threads{set: runtime.GOMAXPROCS}}
}

// SpareThreads adds threads for Go code of the whole process during long work, unless the operator set a number of
// threads.
func (p *Processors) SpareThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		p.threads.from(runtime.GOMAXPROCS(0))
	}
}

// Count returns the number of processors.
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

// Give returns the processor.
func (p *Processors) Give() {
	p.threads.end()
	<-p.places
}
