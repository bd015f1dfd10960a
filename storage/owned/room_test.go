package owned

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc/domain"
	"svc/storage/clickhouse/state"
)

// fill saves things of a tenant until a save is refused. It returns the number of saves and the error.
func (n *node) fill(t *testing.T, tenant string, limit int) (saved int, refused error) {
	t.Helper()
	for ; saved < limit; saved++ {
		entity := goal(uint32(saved+1), "{}")
		entity.Owner, entity.ID = "app/"+tenant+"/1", fmt.Sprint(saved)
		if err := n.Append(t.Context(), state.Record{Entities: []domain.Entity{entity}}, false); err != nil {
			return saved, err
		}
		n.payloads(t) // waits until the tail has it
	}
	return saved, nil
}

// TestATenantLeavesRoomForTheOthers lets one tenant after another save while the tables are unavailable.
func TestATenantLeavesRoomForTheOthers(t *testing.T) {
	b, tables := startBroker(t), newMemory()
	tables.setAway(true)
	n := openNode(t, b, tables, 200*(itemBytes+100))
	n.take(t)
	for _, tenant := range []string{"first", "second", "third"} {
		before := n.tail.size()
		_, refused := n.fill(t, tenant, 200)
		if took, free := n.tail.size()-before, n.cfg.Tail-before; took < free/2-1000 || took > free/2+1000 {
			t.Errorf("%s took %d bytes, %d were free", tenant, took, free)
		}
		refusal, _ := errors.AsType[*domain.Error](refused)
		if !errors.Is(refused, domain.ErrBacklog) || refusal == nil || refusal.Code != domain.CodeUnavailable || refusal.RetryAfter != retryFull {
			t.Errorf("%s was refused with %v", tenant, refused)
		}
	}
	row := state.Record{Key: "k", Audit: &domain.AuditRow{Org: "first"}}
	if err := n.Append(t.Context(), row, true); !errors.Is(err, domain.ErrBacklog) {
		t.Errorf("an audit row of a tenant without room: %v", err)
	}
	if saved, err := n.fill(t, "fourth", 2); saved != 2 {
		t.Errorf("a tenant without saves: %v", err)
	}
	tables.setAway(false)
	if err := n.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := n.fill(t, "first", 2); err != nil || len(n.tail.tenants) > 1 {
		t.Errorf("after the tables came back: %v, %v", err, n.tail.tenants)
	}
}

// TestWhatWasLoadedIsKnownWithoutTheTables loads, saves, and loads again.
func TestWhatWasLoadedIsKnownWithoutTheTables(t *testing.T) {
	b, tables := startBroker(t), newMemory()
	n := openNode(t, b, tables, 0)
	n.take(t)
	load := func(n *node, without ...string) (state.Waiting, string) {
		t.Helper()
		w, err := n.Waiting(t.Context(), []string{anOwner}, without)
		if err != nil {
			t.Fatal(err)
		}
		var payloads []string
		for _, e := range w.Entities[anOwner] {
			payloads = append(payloads, string(e.Payload))
		}
		return w, strings.Join(payloads, " ")
	}
	if err := n.save(1, "new"); err != nil {
		t.Fatal(err)
	}
	if w, got := load(n); !w.Whole[anOwner] || got != "new" {
		t.Errorf("an owner whose first save is in the tail: %q, whole %t", got, w.Whole[anOwner])
	} else {
		w.Loaded(nil)
	}
	if err := n.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, got := load(n)
	if w.Whole[anOwner] || got != "" {
		t.Fatalf("an owner that is in the tables: %q, whole %t", got, w.Whole[anOwner])
	}
	late, _ := load(n)
	w.Loaded(map[string][]domain.Entity{anOwner: {goal(1, "new")}})
	if err := n.save(2, "newer"); err != nil {
		t.Fatal(err)
	}
	if err := n.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	late.Loaded(map[string][]domain.Entity{anOwner: {goal(1, "new")}}) // the result may lack later saves
	if w, got := load(n); !w.Whole[anOwner] || got != "newer" {
		t.Errorf("an owner that was loaded: %q, whole %t", got, w.Whole[anOwner])
	}
	if w, _ := load(n, "goal"); w.Whole[anOwner] {
		t.Error("a copy of all answers a load without some kinds")
	} else {
		w.Loaded(nil)
	}
	n.gap(n.cfg.PartitionOf(anOwner))
	if w, _ := load(n); w.Whole[anOwner] {
		t.Error("a copy outlives a gap of the log")
	}
}
