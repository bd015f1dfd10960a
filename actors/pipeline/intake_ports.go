package pipeline

import "context"

// Processors are shared by all work of a node that keeps a processor busy for milliseconds.
type Processors interface {
	// Take waits for a processor, first come first served.
	Take(ctx context.Context) error
	// Give returns the processor.
	Give()
}

// Lives knows the erased visitors.
type Lives interface {
	// Life returns a number that makes an id another visitor after an erasure, for a row that arrived at an instant. It
	// returns 0 if no visitor with the id was erased before that.
	Life(environment uint64, id string, receivedMs int64) uint64
}

// nobody implements Lives for a system without erasures.
type nobody struct{}

func (nobody) Life(uint64, string, int64) uint64 { return 0 }
