package people

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// keeping puts profiles of an environment under a number.
func keeping(k *keeper, environment, number uint64) {
	k.put(environment, &kept{number: number, rows: 10, made: time.Now(), used: time.Now()}, k.hidden())
}

// TestAnEnvironmentIsNotKeptAllTheTime requests a refresh during a refresh, and during the pause of ten times its
// duration.
func TestAnEnvironmentIsNotKeptAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		k.want(7)
		if environment, found := k.next(); !found || environment != 7 {
			t.Fatalf("environment %d is to be kept, %t, want 7", environment, found)
		}
		k.want(7) // the refresh is running
		k.rest(7, 3*time.Second)
		time.Sleep(29 * time.Second)
		k.want(7)
		if environment, found := k.next(); found {
			t.Errorf("environment %d is to be kept again, 29 seconds after that took three", environment)
		}
		time.Sleep(2 * time.Second)
		k.want(7)
		if _, found := k.next(); !found {
			t.Error("the environment is not to be kept again, 31 seconds after that took three")
		}
	})
}

// TestWhatIsKeptEnds replaces profiles, retires them by an erasure, lets them reach their maximum age, and fails a read
// of them. Reads must not use them from then on, and the sweep must return their number.
func TestWhatIsKeptEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(k *keeper)
		read uint64 // the number that a read gets, or 0
		gone []uint64
	}{
		"stays":     {func(*keeper) {}, 1, nil},
		"replaced":  {func(k *keeper) { keeping(k, 7, 2) }, 2, []uint64{1}},
		"forgotten": {func(k *keeper) { k.forget(7, k.of(7)) }, 0, []uint64{1}},
		"failed":    {func(k *keeper) { k.fail(context.Background(), 7, errors.New("no such column")) }, 0, []uint64{1}},
		"hidden":    {func(k *keeper) { k.hide(map[string]string{"events": "visitor != 1"}) }, 0, []uint64{1}},
		"old":       {func(*keeper) { time.Sleep(keptTime + time.Second) }, 0, []uint64{1}},
		"hidden, too late": {func(k *keeper) {
			before := k.hidden()
			k.hide(map[string]string{"events": "visitor != 1"})
			k.put(7, &kept{number: 2, made: time.Now()}, before)
		}, 0, []uint64{1, 2}},
		"the same is hidden": {func(k *keeper) { k.hide(nil) }, 1, nil},
		"its caller left": {func(k *keeper) {
			gone, leave := context.WithCancel(context.Background())
			leave()
			k.fail(gone, 7, context.Canceled)
		}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKeeper()
				keeping(k, 7, 1)
				c.end(k)
				read := uint64(0)
				if found := k.of(7); found != nil {
					read = found.number
				}
				gone := k.sweep(time.Now().Add(sweepEvery))
				if slices.Sort(gone); read != c.read || !slices.Equal(gone, c.gone) {
					t.Errorf("%d is read and %v are removed, want %d and %v", read, gone, c.read, c.gone)
				}
				if again := k.sweep(time.Now().Add(sweepEvery)); len(again) > 0 {
					t.Errorf("%v are removed twice", again)
				}
			})
		})
	}
}

// TestFewEnvironmentsAreKept adds more environments than a node may have. The sweep must return the least recently
// read.
func TestFewEnvironmentsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper()
		for environment := range uint64(keptEnvironments + 2) {
			keeping(k, environment, 100+environment)
			time.Sleep(time.Second)
		}
		k.of(0)
		gone := k.sweep(time.Now())
		if slices.Sort(gone); !slices.Equal(gone, []uint64{101, 102}) {
			t.Errorf("%v are removed, want 101 and 102", gone)
		}
		if k.of(0) == nil || k.of(1) != nil || len(k.kept) != keptEnvironments {
			t.Errorf("%d environments are kept", len(k.kept))
		}
	})
}

// TestPartsTellThatRowsWent compares the parts of a table with its earlier parts.
func TestPartsTellThatRowsWent(t *testing.T) {
	before := kept{parts: map[string]tableParts{"profiles": {blocks: [][2]int64{{1, 8}, {9, 9}}, last: 9, mutated: 4}}}
	for name, c := range map[string]struct {
		now   tableParts
		holds bool
	}{
		"the same":          {tableParts{blocks: [][2]int64{{1, 8}, {9, 9}}, last: 9, mutated: 4}, true},
		"new ones":          {tableParts{blocks: [][2]int64{{1, 8}, {9, 9}, {10, 12}}, last: 12, mutated: 4}, true},
		"merged":            {tableParts{blocks: [][2]int64{{1, 11}}, last: 11, mutated: 4}, true},
		"changed":           {tableParts{blocks: [][2]int64{{1, 8}, {9, 9}}, last: 9, mutated: 10}, false},
		"one is gone":       {tableParts{blocks: [][2]int64{{1, 8}}, last: 8, mutated: 4}, false},
		"all are gone":      {tableParts{}, false},
		"divided otherwise": {tableParts{blocks: [][2]int64{{1, 5}, {6, 9}}, last: 9, mutated: 4}, false},
	} {
		if got := before.holds(map[string]tableParts{"profiles": c.now}); got != c.holds {
			t.Errorf("%s: what was kept holds: %t, want %t", name, got, c.holds)
		}
	}
}
