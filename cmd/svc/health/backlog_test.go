package health

import (
	"strings"
	"testing"
	"time"

	"svc/domain/event"
)

// TestReadinessIsTheAgeOfTheOldestRecord follows a node whose store stops accepting blocks, accepts some, and catches
// up. Then its log does not answer.
func TestReadinessIsTheAgeOfTheOldestRecord(t *testing.T) {
	begun := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	var b Backlog
	b.begin(begun)
	for _, step := range []struct {
		at        time.Duration
		positions map[int][2]int64 // nil if the log does not answer
		stored    []event.LogPosition
		age       time.Duration
		fails     string
	}{
		{at: 0, positions: map[int][2]int64{0: {5, 5}, 1: {7, 7}}},
		{at: time.Second, positions: map[int][2]int64{0: {5, 9}, 1: {7, 7}}},
		{at: 3 * time.Second, positions: map[int][2]int64{0: {5, 12}, 1: {7, 7}}, age: 2 * time.Second},
		{at: 20 * time.Second, positions: map[int][2]int64{0: {5, 900_000}, 1: {7, 8}}, age: 19 * time.Second},
		{at: 40 * time.Second, positions: map[int][2]int64{0: {5, 900_000}, 1: {8, 8}}, age: 39 * time.Second, fails: "waited for 39s"},
		{at: 41 * time.Second, positions: map[int][2]int64{0: {9, 900_000}, 1: {8, 8}}, age: 38 * time.Second, fails: "waited for 38s"},
		{at: 42 * time.Second, positions: map[int][2]int64{0: {12, 900_000}, 1: {8, 8}}, age: 22 * time.Second},
		{at: 43 * time.Second, positions: map[int][2]int64{0: {900_000, 900_000}, 1: {8, 8}}},
		{at: 44 * time.Second, positions: map[int][2]int64{1: {8, 9}}},
		{at: 60 * time.Second, age: 16 * time.Second},
		{at: 73 * time.Second, age: 29 * time.Second},
		{at: 80 * time.Second, age: 36 * time.Second, fails: "not known for 36s"},
		{at: 81 * time.Second, positions: map[int][2]int64{1: {9, 9}}},
		{at: 82 * time.Second, positions: map[int][2]int64{0: {900_000, 900_004}, 1: {9, 11}}},
		{at: 83 * time.Second, positions: map[int][2]int64{0: {900_000, 900_006}, 1: {9, 11}}, age: time.Second},
		{at: 83500 * time.Millisecond, stored: []event.LogPosition{{Partition: 0, Offset: 900_000}, {Partition: 1, Offset: 11}, {Partition: 2, Offset: 3}}, age: 1500 * time.Millisecond},
		{at: 83600 * time.Millisecond, stored: []event.LogPosition{{Partition: 0, Offset: 900_004}}, age: 600 * time.Millisecond},
		{at: 83700 * time.Millisecond, stored: []event.LogPosition{{Partition: 0, Offset: 900_006}}},
	} {
		now := begun.Add(step.at)
		if step.positions != nil {
			b.note(now, step.positions)
		}
		b.Stored(step.stored)
		if age := b.age(now); age != step.age {
			t.Errorf("after %s the age is %s, want %s", step.at, age, step.age)
		}
		err := b.ready(now)
		if (err == nil) != (step.fails == "") || err != nil && !strings.Contains(err.Error(), step.fails) {
			t.Errorf("after %s readiness says %v, want %q", step.at, err, step.fails)
		}
	}
}
