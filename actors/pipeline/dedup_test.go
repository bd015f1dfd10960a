package pipeline

import (
	"math/rand/v2"
	"testing"
)

// TestRecentIDs compares with a list of everything that was ever added: an id is known only if it was added before, and
// each of the newest limit ids is known.
func TestRecentIDs(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 10, 100} {
		rng := rand.New(rand.NewPCG(1, uint64(limit)))
		ids := newDedup(limit)
		var history [][2]uint64 // accepted, in order
		at := map[[2]uint64]int{}
		for range 200 * limit {
			id := [2]uint64{uint64(rng.IntN(4 * limit)), uint64(rng.IntN(2))}
			before, seen := at[id]
			age := len(history) - before
			isNew := ids.add(id)
			switch {
			case !isNew && !seen:
				t.Fatalf("limit %d: %v is called known and was never added", limit, id)
			case !isNew && age > 2*limit:
				t.Fatalf("limit %d: %v is known after %d newer ones, want at most %d", limit, id, age, 2*limit)
			case isNew && seen && age <= limit:
				t.Fatalf("limit %d: %v is forgotten after %d newer ones, want %d remembered", limit, id, age, limit)
			}
			if isNew {
				at[id] = len(history)
				history = append(history, id)
			}
			if ids.size() > 2*limit || ids.size() < min(len(history), limit) {
				t.Fatalf("limit %d: %d ids are remembered of %d, want %d to %d", limit, ids.size(), len(history), limit, 2*limit)
			}
		}
	}
}

// TestRecentIDsTurn checks the exact moment at which ids are dropped.
func TestRecentIDsTurn(t *testing.T) {
	ids := newDedup(2)
	steps := []struct {
		id   uint64
		want bool
		size int
	}{
		{1, true, 1},
		{1, false, 1},
		{2, true, 2},
		{1, false, 2},
		{3, true, 3},
		{4, true, 4},
		{1, false, 4},
		{2, false, 4},
		{5, true, 3},
		{3, false, 3},
		{4, false, 3},
		{1, true, 4},
		{2, true, 3},
		{5, false, 3},
	}
	for n, step := range steps {
		if got := ids.add([2]uint64{step.id, 0}); got != step.want || ids.size() != step.size {
			t.Errorf("step %d: add(%d) = %v with %d remembered, want %v with %d", n, step.id, got, ids.size(), step.want, step.size)
		}
	}
}
