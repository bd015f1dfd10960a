package owned

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"svc/domain"
	"svc/storage/clickhouse/state"
)

// noon is the start time for the wake-ups of the tests.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// wish saves wake-ups of the test owner, at minutes after noon. Zero minutes removes a wake-up.
func (n *node) wish(t *testing.T, sequence uint32, minutes map[string]int) {
	t.Helper()
	r := state.Record{Entities: []domain.Entity{goal(sequence, "{}")}}
	for name, minute := range minutes {
		w := domain.Wakeup{Kind: "app", Identity: "1", Name: name}
		if minute > 0 {
			w.Due = noon.Add(time.Duration(minute) * time.Minute)
		}
		r.Wakeups = append(r.Wakeups, w)
	}
	if err := n.Append(t.Context(), r, false); err != nil {
		t.Fatal(err)
	}
}

// due returns the names of the wake-ups that are due a number of minutes and seconds after noon.
func (n *node) due(minute, seconds int) (names []string) {
	at := noon.Add(time.Duration(minute)*time.Minute + time.Duration(seconds)*time.Second)
	n.Due(at, func(w domain.Wakeup) bool {
		names = append(names, w.Name)
		return true
	})
	slices.Sort(names)
	return names
}

// waitFor waits until the due wake-ups have the wanted names.
func (n *node) waitFor(t *testing.T, minute int, want ...string) {
	t.Helper()
	until := time.Now().Add(20 * time.Second)
	for at := 0; ; at += 6 {
		got := n.due(minute, at)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("due after %d minutes: %q, want %q", minute, got, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestWakeupsAreKnownWithoutReading replaces and removes wake-ups, before and after a partition moves, and counts the
// reads of the table.
func TestWakeupsAreKnownWithoutReading(t *testing.T) {
	b, tables := startBroker(t), newMemory()
	first, second := openNode(t, b, tables, 0), openNode(t, b, tables, 0)
	claim := first.take(t)
	first.wish(t, 1, map[string]int{"check": 1, "purge": 5, "gone": 2})
	first.wish(t, 2, map[string]int{"check": 3, "gone": 0})
	first.payloads(t) // waits until the saves are read from the log
	if got := first.due(2, 0); len(got) != 0 {
		t.Errorf("due at two: %q", got)
	}
	first.waitFor(t, 4, "check")
	if got := fmt.Sprint(first.due(5, 0), first.due(5, 1), first.due(5, 6)); got != "[check purge] [] [check purge]" {
		t.Errorf("due again: %s", got)
	}
	if got := second.due(9, 0); len(got) != 0 {
		t.Errorf("another node's wake-ups are due: %q", got)
	}
	if err := first.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.take(t)
	<-claim.Lost()
	claim.Close()
	second.waitFor(t, 9, "check", "purge")
	second.wish(t, 3, map[string]int{"check": 0, "late": 8})
	second.payloads(t)
	second.waitFor(t, 20, "late", "purge")
	if got := first.due(30, 0); len(got) != 0 {
		t.Errorf("what another node took is due: %q", got)
	}
	tables.mu.Lock()
	defer tables.mu.Unlock()
	if tables.reads != 2 {
		t.Errorf("the table was read %d times for two claims", tables.reads)
	}
}

// TestATableThatIsReadLateBringsNothingBack takes a partition while the tables are unavailable. Wake-ups that are saved
// meanwhile are due. Wake-ups that are removed meanwhile stay removed after the table is read.
func TestATableThatIsReadLateBringsNothingBack(t *testing.T) {
	b, tables := startBroker(t), newMemory()
	for _, name := range []string{"removed", "kept"} {
		tables.wakeups["app|1|"+name] = domain.Wakeup{Kind: "app", Identity: "1", Name: name, Due: noon}
	}
	tables.setAway(true)
	n := openNode(t, b, tables, 0)
	n.take(t)
	n.wish(t, 1, map[string]int{"removed": 0, "new": 1})
	n.payloads(t)
	n.waitFor(t, 1, "new")
	tables.setAway(false)
	n.waitFor(t, 1, "kept", "new")
}
