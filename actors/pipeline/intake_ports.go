package pipeline

import "context"

// Processors are what all work of a node shares that keeps a processor busy for milliseconds.
type Processors interface {
	// Take waits for a processor, first come first served.
	Take(ctx context.Context) error
	// Give gives it back.
	Give()
}

// Lives knows who was erased.
type Lives interface {
	// Life returns what makes another visitor of an id, for a row that arrived at an instant; 0 where nobody with
	// the id was erased before.
	Life(environment uint64, id string, receivedMs int64) uint64
}

// nobody was erased.
type nobody struct{}

func (nobody) Life(uint64, string, int64) uint64 { return 0 }
