package owned

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"svc/domain"
	"svc/storage/clickhouse/state"
	log "svc/storage/kafka/state"
)

// ledgers accepts each entry once, like real ledgers.
type ledgers struct {
	mu    sync.Mutex
	taken []string
	away  bool
}

func (l *ledgers) seal(_ context.Context, _ string, left []domain.LeftEntry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return errors.New("the ledger is away")
	}
	for _, one := range left {
		if !slices.Contains(l.taken, one.Entry.ID) {
			l.taken = append(l.taken, one.Entry.ID)
		}
	}
	return nil
}

func (l *ledgers) got() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.taken)
}

// TestEntriesWaitForTheirLedger saves a change with a ledger entry while the ledger is unavailable. The tables get the
// change. The entry survives the process, and nothing is read twice after the entry has its place.
func TestEntriesWaitForTheirLedger(t *testing.T) {
	b, tables, book := startBroker(t), newMemory(), &ledgers{away: true}
	open := func() (*node, func()) {
		l, err := log.Open(log.Config{Brokers: b.Addrs(), Dial: b.Dial, Topic: "state", Partitions: testPartitions, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		n := &node{log: l}
		n.Store = New(Config{
			Log: l, Partitions: testPartitions, PartitionOf: func(owner string) int { return int(owner[len(owner)-1]) % testPartitions },
			Seal: book.seal, Logger: slog.New(slog.DiscardHandler),
		})
		if err := errors.Join(l.Ensure(t.Context()), n.Begin(t.Context(), tables)); err != nil {
			t.Fatal(err)
		}
		return n, func() {
			n.Close()
			l.Close()
		}
	}
	n, end := open()
	claim := n.take(t)
	for id, name := range map[string]string{"one": "a", "two": "b"} {
		err := n.Append(t.Context(), state.Record{
			Key: id, Entities: []domain.Entity{{Owner: anOwner, Kind: "k", ID: name, Version: domain.Version{Generation: 1, Sequence: 1}, Payload: []byte("{}")}},
			Left: []domain.LedgerEntry{{Org: "acme", Kind: "key.created"}}, Audit: &domain.AuditRow{Org: "acme"},
		}, false)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tables.names(); len(got) != 2 || len(tables.audit) != 2 {
		t.Errorf("the tables have %v and %d audit rows", got, len(tables.audit))
	}
	if err := n.Seal(t.Context()); err == nil {
		t.Error("entries were sealed while the ledger is away")
	}
	if n.Waits() == 0 {
		t.Error("the entries are forgotten")
	}
	claim.Close()
	end() // writes the marks of the moved positions

	book.mu.Lock()
	book.away = false
	book.mu.Unlock()
	n, end = open()
	if err := n.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := book.got()
	if slices.Sort(got); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("the ledger has %v", got)
	}
	if err := n.Flush(t.Context()); err != nil || n.Waits() != 0 {
		t.Errorf("%d bytes wait, %v", n.Waits(), err)
	}
	end()
	book.taken = nil
	n, end = open()
	defer end()
	if err := n.Seal(t.Context()); err != nil || len(book.got()) != 0 {
		t.Errorf("%v are sealed again, %v", book.got(), err)
	}
}
