package person_test

import (
	"slices"
	"testing"
	"time"

	"svc/domain/person"
)

// TestIDsAreErasedAgain erases an id, and the visitor under which it returns.
func TestIDsAreErasedAgain(t *testing.T) {
	const environment, id, first, second = 7, uint64(40), uint64(0x111), uint64(0x222)
	begun := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	later := begun.Add(time.Hour)
	erased := person.NewErasedVisitors([]person.Erasure{
		{EnvironmentNumber: environment, Visitors: []uint64{id ^ first}, Life: second, At: later},
		{EnvironmentNumber: environment, Visitors: []uint64{id, 41}, Life: first, At: begun},
	})
	if got := erased.IDs(environment, []uint64{id ^ first, 41, 42}); !slices.Equal(got, []uint64{id, 41, 42}) {
		t.Errorf("the ids are %v", got)
	}
	if got := [2]int{erased.Count(environment), erased.Count(8)}; got != [2]int{3, 0} {
		t.Errorf("%v ids were erased", got)
	}
	for _, c := range []struct {
		after  time.Duration
		life   uint64
		erased bool
	}{{-time.Second, first, true}, {0, first, true}, {time.Millisecond, second, true}, {time.Hour, second, true}, {2 * time.Hour, 0, false}} {
		if life, gone := erased.ErasedLife(environment, id, begun.Add(c.after).UnixMilli()); life != c.life || gone != c.erased {
			t.Errorf("what arrived %v after: %x, %t", c.after, life, gone)
		}
	}
	if first, second := person.ErasedCustomer(first, "ada"), person.ErasedCustomer(second, "ada"); first == second || len(first) != len("erased_")+16 {
		t.Errorf("the customers are %q and %q", first, second)
	}
}
