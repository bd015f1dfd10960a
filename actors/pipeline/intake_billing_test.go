package pipeline

import "testing"

// TestLastValues lists repetitions, and checks the moment at which names are dropped.
func TestLastValues(t *testing.T) {
	s := newSaid(2)
	for n, step := range []struct {
		name    uint64
		value   int64
		repeats bool
	}{
		{1, 0, false},
		{1, 0, true},
		{1, 7, false},
		{1, 0, false}, // it changes back
		{2, 0, false},
		{3, 0, false}, // 1 and 2 are the previous ones
		{4, 0, false},
		{2, 0, true},
		{1, 0, true},
		{4, 0, true},
		{4, 5, false},
		{5, 0, false}, // 1 and 2 are forgotten
		{4, 5, true},
		{3, 0, true},
		{1, 0, false},
	} {
		if got := s.repeats([2]uint64{step.name, 9}, step.value); got != step.repeats {
			t.Errorf("step %d: %d with %d repeats: %t", n, step.name, step.value, got)
		}
	}
}
