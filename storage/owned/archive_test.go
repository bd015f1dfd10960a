package owned

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"svc/domain"
	"svc/storage/clickhouse/state"
	log "svc/storage/kafka/state"
)

// rebuilt fills new tables from the log.
func (n *node) rebuilt(t *testing.T) (*memory, error) {
	t.Helper()
	tables := newMemory()
	return tables, Rebuild(t.Context(), n.log, testPartitions, tables, func(int, uint64) {})
}

// seeded waits until every partition is copied.
func (n *node) seeded(t *testing.T) {
	t.Helper()
	until := time.Now().Add(30 * time.Second)
	for {
		archives, err := n.log.Archives(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lacking := 0
		for _, a := range archives {
			if a == (log.Archive{}) {
				lacking++
			}
		}
		if lacking == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%d partitions were not copied: %+v", lacking, archives)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// saveAll saves one thing of each kind.
func (n *node) saveAll(t *testing.T, sequence uint32) {
	t.Helper()
	gone := goal(sequence, "")
	gone.ID, gone.Deleted, gone.Payload = fmt.Sprint("gone", sequence), true, nil
	due := time.UnixMilli(1.78e12 + int64(sequence)).UTC()
	for _, r := range []state.Record{
		{
			Entities: []domain.Entity{goal(sequence, fmt.Sprint("goal", sequence)), gone},
			Wakeups:  []domain.Wakeup{{Kind: "app", Identity: "1", Name: "look", Due: due}},
		},
		{Sealed: []domain.Entity{{Owner: "ledger/1", Kind: "entry", ID: fmt.Sprint(sequence), Version: domain.Version{Generation: 1, Sequence: sequence}, Payload: []byte("entry")}}},
	} {
		if err := n.Append(t.Context(), r, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Append(t.Context(), state.Record{Key: fmt.Sprint("row", sequence), Audit: &domain.AuditRow{Org: "1", Detail: "seen"}}, true); err != nil {
		t.Fatal(err)
	}
}

// recalls compares the log's answers with the tables: for all owners, for one owner and one kind, and for wake-ups.
func (n *node) recalls(t *testing.T, tables *memory) {
	t.Helper()
	for _, one := range []struct {
		owners []string
		keep   func(e *domain.Entity) bool
	}{
		{nil, func(*domain.Entity) bool { return true }},
		{[]string{anOwner}, func(e *domain.Entity) bool { return e.Owner == anOwner }},
		{[]string{anOwner, "app/2"}, func(e *domain.Entity) bool { return e.ID == "old" && (e.Owner == anOwner || e.Owner == "app/2") }},
	} {
		found, err := n.Recall(t.Context(), one.owners, one.keep)
		if err != nil {
			t.Fatal(err)
		}
		got, want := map[string]domain.Entity{}, maps.Clone(tables.entities)
		for _, e := range found {
			got[e.Owner+"|"+e.Kind+"|"+e.ID] = e
		}
		maps.DeleteFunc(want, func(_ string, e domain.Entity) bool { return !one.keep(&e) })
		if len(got) != len(found) || len(want) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("of %v the log has %+v, the tables have %+v", one.owners, found, want)
		}
	}
	wanted, got, due := make([]bool, testPartitions), map[string]domain.Wakeup{}, map[string]domain.Wakeup{}
	wanted[n.cfg.PartitionOf("app/1")] = true
	err := n.recallWakeups(t.Context(), wanted, func(w domain.Wakeup, _ uint64) { got[w.Kind+"|"+w.Identity+"|"+w.Name] = w })
	for key, w := range tables.wakeups {
		if wanted[n.cfg.PartitionOf(w.Kind+"/"+w.Identity)] {
			due[key] = w
		}
	}
	if err != nil || len(due) == 0 || !reflect.DeepEqual(got, due) {
		t.Errorf("the log has the wake-ups %v, the tables have %v: %v", got, due, err)
	}
}

// same compares the content of two tables.
func same(t *testing.T, got, want *memory) {
	t.Helper()
	for what, maps := range map[string][2]any{
		"entities": {got.entities, want.entities}, "wake-ups": {got.wakeups, want.wakeups}, "versions of wake-ups": {got.versions, want.versions},
		"entries": {got.entries, want.entries}, "audit rows": {got.audit, want.audit},
	} {
		if !reflect.DeepEqual(maps[0], maps[1]) {
			t.Errorf("%s: %v, want %v", what, maps[0], maps[1])
		}
	}
}

// TestTheLogHoldsTheWholeState begins with tables that are older than the log and copies them. It saves more, trims,
// and copies again after a kill in the middle. Each time it fills empty tables from the log.
func TestTheLogHoldsTheWholeState(t *testing.T) {
	b, tables := startBroker(t), newMemory()
	old := goal(7, "old")
	old.ID = "old"
	for _, owner := range []string{"app/0", "app/1", "app/2", "app/3"} {
		old.Owner = owner
		tables.entities[owner+"|goal|old"] = old
	}
	n := openNode(t, b, tables, 0)
	if _, err := n.rebuilt(t); !errors.Is(err, ErrIncomplete) {
		t.Errorf("a log without the state fills tables: %v", err)
	}
	if _, err := n.Recall(t.Context(), nil, func(*domain.Entity) bool { return true }); !errors.Is(err, ErrIncomplete) {
		t.Errorf("a log without the state answers for the tables: %v", err)
	}
	for partition := range testPartitions {
		if _, err := n.Take(t.Context(), partition); err != nil {
			t.Fatal(err)
		}
	}
	n.seeded(t)
	n.saveAll(t, 8)
	check := func() {
		t.Helper()
		if err := n.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := n.rebuilt(t)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, tables)
		n.recalls(t, tables)
	}
	check()

	// Unconfirmed copies have no effect.
	owner := n.owner(n.cfg.PartitionOf(anOwner))
	barrier, err := owner.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	half := newCopying(owner, barrier)
	if err := errors.Join(half.add(t.Context(), &state.Record{Entities: []domain.Entity{goal(1, "outdated")}}), half.flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	n.saveAll(t, 9)
	check()

	owners := map[int]*log.Owner{}
	for partition := range testPartitions {
		owners[partition] = n.owner(partition)
	}
	long := time.Now().Add(-2 * archiveLook)
	if err := n.archive(t.Context(), owners, long); err != nil {
		t.Fatal(err)
	}
	before, err := n.log.Starts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := &archiver{store: n.Store, looks: map[int]bool{}}
	if err := errors.Join(n.Flush(t.Context()), a.look(t.Context(), time.Now())); err != nil {
		t.Fatal(err)
	}
	after, err := n.log.Starts(t.Context())
	if err != nil || maps.Equal(byPartition(before), byPartition(after)) {
		t.Errorf("nothing was trimmed: from %v to %v, %v", before, after, err)
	}
	n.saveAll(t, 10)
	check()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.heard {
		if e.ID == "old" {
			t.Errorf("a copy was heard: %+v", e)
		}
	}
}

func byPartition(offsets []int64) map[int]int64 {
	out := map[int]int64{}
	for partition, offset := range offsets {
		out[partition] = offset
	}
	return out
}
