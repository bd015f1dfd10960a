package pipeline

// Lives knows who was erased.
type Lives interface {
	// Life returns what makes another visitor of an id, for a row that arrived at an instant; 0 where nobody with
	// the id was erased before.
	Life(environment uint64, id string, receivedMs int64) uint64
}

// nobody was erased.
type nobody struct{}

func (nobody) Life(uint64, string, int64) uint64 { return 0 }
