package owned

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc/domain"
	"svc/storage/clickhouse/state"
	"svc/storage/kafka/broker"
	log "svc/storage/kafka/state"
)

const (
	testPartitions = 4
	// anOwner is the owner of most entities of a test.
	anOwner = "app/1"
)

// memory is an in-memory implementation of the tables.
type memory struct {
	mu       sync.Mutex
	entities map[string]domain.Entity
	wakeups  map[string]domain.Wakeup
	versions map[string]uint64 // of wake-ups
	entries  map[string]domain.Entity
	audit    map[string]domain.AuditRow
	moves    int
	reads    int // of wake-ups
	away     bool
}

func newMemory() *memory {
	return &memory{entities: map[string]domain.Entity{}, wakeups: map[string]domain.Wakeup{}, versions: map[string]uint64{}, entries: map[string]domain.Entity{}, audit: map[string]domain.AuditRow{}}
}

var errAway = errors.New("the tables are away")

func (m *memory) Move(_ context.Context, records []state.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return errAway
	}
	m.moves++
	for _, r := range records {
		keep := func(table map[string]domain.Entity, e domain.Entity) {
			key := e.Owner + "|" + e.Kind + "|" + e.ID
			if e.Version.Number() >= table[key].Version.Number() {
				table[key] = e
			}
		}
		for _, e := range r.Entities {
			keep(m.entities, e)
		}
		for _, e := range r.Sealed {
			keep(m.entries, e)
		}
		for _, w := range r.Wakeups {
			key := w.Kind + "|" + w.Identity + "|" + w.Name
			m.wakeups[key], m.versions[key] = w, r.Version.Number()
		}
		if r.Audit != nil {
			m.audit[r.Key] = *r.Audit
		}
	}
	return nil
}

func (m *memory) Wakeups(_ context.Context, yield func(w domain.Wakeup, version uint64)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away {
		return errAway
	}
	m.reads++
	for key, w := range m.wakeups {
		if !w.Due.IsZero() {
			yield(w, m.versions[key])
		}
	}
	return nil
}

func (m *memory) Each(_ context.Context, each func(r state.Record) error) error {
	m.mu.Lock()
	var all []state.Record
	for _, e := range m.entities {
		all = append(all, state.Record{Entities: []domain.Entity{e}})
	}
	for _, e := range m.entries {
		all = append(all, state.Record{Sealed: []domain.Entity{e}})
	}
	for key, w := range m.wakeups {
		all = append(all, state.Record{Wakeups: []domain.Wakeup{w}, Version: domain.VersionOf(m.versions[key])})
	}
	for key, row := range m.audit {
		all = append(all, state.Record{Key: key, Audit: &row})
	}
	m.mu.Unlock()
	for _, r := range all {
		if err := each(r); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) setAway(away bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.away = away
}

func (m *memory) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.entities))
}

// startBroker returns a broker with a log of state.
func startBroker(t testing.TB) *broker.Broker {
	t.Helper()
	b, err := broker.Open(broker.Config{Dir: t.TempDir(), Topics: []string{"ingest", "state"}, Partitions: testPartitions, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// node is a store over a broker and tables that several stores share.
type node struct {
	*Store
	log *log.Log

	mu    sync.Mutex
	heard []domain.Entity
}

func openNode(t testing.TB, b *broker.Broker, tables Tables, tail int) *node {
	t.Helper()
	logger := slog.New(slog.DiscardHandler)
	l, err := log.Open(log.Config{Brokers: b.Addrs(), Dial: b.Dial, Topic: "state", Partitions: testPartitions, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	n := &node{log: l}
	n.Store = New(Config{
		Log: l, Partitions: testPartitions, PartitionOf: func(owner string) int { return int(owner[len(owner)-1]) % testPartitions },
		Changed: func(entities []domain.Entity) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.heard = append(n.heard, entities...)
		},
		TenantOf: func(owner string) string { return strings.Split(owner, "/")[1] },
		Tail:     tail, Logger: logger,
	})
	if err := l.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.Begin(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.Close()
		l.Close()
	})
	return n
}

func (n *node) take(t testing.TB) *Claim {
	t.Helper()
	claim, err := n.Take(t.Context(), n.cfg.PartitionOf(anOwner))
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func goal(sequence uint32, payload string) domain.Entity {
	return domain.Entity{Owner: anOwner, Kind: "goal", ID: "g", Version: domain.Version{Generation: 1, Sequence: sequence}, Payload: []byte(payload)}
}

func (n *node) save(sequence uint32, payload string) error {
	return n.Append(context.Background(), state.Record{Entities: []domain.Entity{goal(sequence, payload)}}, false)
}

// payloads returns the payloads that a load merges into the table for the test owner.
func (n *node) payloads(t testing.TB) (payloads []string) {
	t.Helper()
	waiting, err := n.Waiting(t.Context(), []string{anOwner}, nil)
	if err != nil {
		t.Fatal(err)
	}
	waiting.Loaded(nil)
	for _, e := range waiting.Entities[anOwner] {
		payloads = append(payloads, string(e.Payload))
	}
	return payloads
}

// TestAPredecessorCannotSave moves a partition to another node while the predecessor is about to save. The
// predecessor's save arrives after the successor has loaded.
func TestAPredecessorCannotSave(t *testing.T) {
	b, tables := startBroker(t), newMemory()
	tables.setAway(true) // so that everything is read from the log
	first, second := openNode(t, b, tables, 0), openNode(t, b, tables, 0)
	claim := first.take(t)
	if err := first.save(1, "old"); err != nil {
		t.Fatal(err)
	}
	if got := first.payloads(t); !slices.Equal(got, []string{"old"}) {
		t.Errorf("the owner loads %q", got)
	}
	second.take(t)
	if got := second.payloads(t); !slices.Equal(got, []string{"old"}) {
		t.Errorf("the successor loads %q", got)
	}
	if err := first.save(2, "late"); domain.CodeOf(err) != domain.CodeUnavailable || !errors.Is(err, log.ErrLost) {
		t.Errorf("the predecessor saves, %v", err)
	}
	<-claim.Lost()
	if err := second.save(2, "new"); err != nil {
		t.Fatal(err)
	}
	for _, n := range []*node{first, second} {
		if got := n.payloads(t); !slices.Equal(got, []string{"new"}) {
			t.Errorf("loaded %q", got)
		}
	}
	claim.Close()
	if err := first.save(3, "later"); !errors.Is(err, log.ErrLost) {
		t.Errorf("a save without a claim: %v", err)
	}
	if err := first.Append(t.Context(), state.Record{Key: "k", Audit: &domain.AuditRow{Detail: "free"}}, true); err != nil {
		t.Errorf("a free record: %v", err)
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	if len(first.heard) != 2 || string(first.heard[1].Payload) != "new" {
		t.Errorf("the other node heard of %+v", first.heard)
	}
}

// TestEverythingReachesItsTable saves one thing of each kind, and lists on another node at once.
func TestEverythingReachesItsTable(t *testing.T) {
	b, tables := startBroker(t), newMemory()
	one, other := openNode(t, b, tables, 0), openNode(t, b, tables, 0)
	one.take(t)
	gone := goal(2, "")
	gone.ID, gone.Deleted, gone.Payload = "h", true, nil
	due := time.UnixMilli(1.78e12).UTC()
	wakeups := []domain.Wakeup{{Kind: "app", Identity: "1", Name: "look", Due: due}, {Kind: "app", Identity: "1", Name: "rest"}}
	for _, r := range []state.Record{
		{Entities: []domain.Entity{goal(2, "{}"), gone}, Wakeups: wakeups},
		{Sealed: []domain.Entity{{Owner: "ledger/1", Kind: "entry", ID: "7", Version: domain.Version{Generation: 1, Sequence: 7}, Payload: []byte("entry")}}},
	} {
		if err := one.Append(t.Context(), r, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Append(t.Context(), state.Record{Key: "row", Audit: &domain.AuditRow{Detail: "seen"}}, true); err != nil {
		t.Fatal(err)
	}
	if err := other.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tables.entities["app/1|goal|g"], tables.entities["app/1|goal|h"]); got != fmt.Sprint(goal(2, "{}"), gone) {
		t.Errorf("the entities are %s", got)
	}
	if got := fmt.Sprint(tables.wakeups["app|1|look"], tables.wakeups["app|1|rest"]); got != fmt.Sprint(wakeups[0], wakeups[1]) {
		t.Errorf("the wake-ups are %s", got)
	}
	if string(tables.entries["ledger/1|entry|7"].Payload) != "entry" || tables.audit["row"].Detail != "seen" {
		t.Errorf("the ledger is %v, the audit %v", tables.entries, tables.audit)
	}
	if waiting, err := other.Waiting(t.Context(), []string{"app/1"}, nil); err != nil || len(waiting.Entities["app/1"]) != 0 {
		t.Errorf("what is in the tables waits: %v, %v", waiting.Entities, err)
	}
}

// TestSavesGoOnWhileTheTablesAreAway fills the tail to its limit.
func TestSavesGoOnWhileTheTablesAreAway(t *testing.T) {
	b, tables := startBroker(t), newMemory()
	tables.setAway(true)
	n := openNode(t, b, tables, 40*(itemBytes+100))
	n.take(t)
	saved, refused := 0, error(nil)
	for ; refused == nil && saved < 1000; saved++ {
		entity := goal(uint32(saved+1), "{}")
		entity.ID = fmt.Sprint(saved)
		refused = n.Append(t.Context(), state.Record{Entities: []domain.Entity{entity}}, false)
		n.payloads(t) // waits until the tail has it
	}
	if saved < 15 || saved > 30 || domain.CodeOf(refused) != domain.CodeUnavailable {
		t.Errorf("%d saves, then %v", saved, refused)
	}
	if err := n.Flush(t.Context()); !errors.Is(err, errAway) || domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a list: %v", err)
	}
	tables.setAway(false)
	if err := n.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.save(2000, "{}"); err != nil {
		t.Errorf("after the tables came back: %v", err)
	}
	if got := len(tables.names()); got != saved-1 {
		t.Errorf("%d entities, want %d", got, saved-1)
	}
}

// TestAStartReadsWhatTheTablesLack kills a node before and after its saves are in the tables.
func TestAStartReadsWhatTheTablesLack(t *testing.T) {
	b, tables := startBroker(t), newMemory()
	first := openNode(t, b, tables, 0)
	first.take(t)
	save := func(n *node, id string) {
		t.Helper()
		entity := goal(1, "{}")
		entity.ID = id
		if err := n.Append(t.Context(), state.Record{Entities: []domain.Entity{entity}}, false); err != nil {
			t.Fatal(err)
		}
	}
	save(first, "moved")
	first.Close() // moves the tail and writes the marks
	moves := tables.moves
	second := openNode(t, b, tables, 0)
	if waiting, err := second.Waiting(t.Context(), []string{"app/1"}, nil); err != nil || len(waiting.Entities["app/1"]) != 0 {
		t.Errorf("what was marked is read again: %v, %v", waiting.Entities, err)
	}
	second.take(t)
	tables.setAway(true)
	save(second, "left")
	second.Close() // moves nothing
	tables.setAway(false)
	third := openNode(t, b, tables, 0)
	if err := third.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tables.names(); !slices.Equal(got, []string{"app/1|goal|left", "app/1|goal|moved"}) || tables.moves <= moves {
		t.Errorf("the tables have %q", got)
	}
}

// TestTablesThatBeginAnewDoNotFollow loses the tables before all saves were moved to them. New tables get only later
// saves, and so does the log's copy of the state.
func TestTablesThatBeginAnewDoNotFollow(t *testing.T) {
	b, lost := startBroker(t), newMemory()
	first := openNode(t, b, lost, 0)
	for partition := range testPartitions {
		if _, err := first.Take(t.Context(), partition); err != nil {
			t.Fatal(err)
		}
	}
	first.seeded(t)
	first.saveAll(t, 1)
	lost.setAway(true)
	first.saveAll(t, 2)
	first.Close() // moves nothing
	if err := New(first.cfg).Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	archives, err := first.log.Archives(t.Context())
	if err != nil || slices.ContainsFunc(archives, func(a log.Archive) bool { return a != (log.Archive{}) }) {
		t.Errorf("archives %+v, %v", archives, err)
	}

	tables := newMemory()
	second := openNode(t, b, tables, 0)
	if err := second.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := tables.names(); len(got) > 0 || len(second.payloads(t)) > 0 || len(second.heard) > 0 {
		t.Errorf("new tables have %q", got)
	}
	for partition := range testPartitions {
		if _, err := second.Take(t.Context(), partition); err != nil {
			t.Fatal(err)
		}
	}
	second.seeded(t)
	if err := errors.Join(second.save(1, "new"), second.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := tables.names(); !slices.Equal(got, []string{"app/1|goal|g"}) {
		t.Errorf("new tables have %q", got)
	}
}

// BenchmarkSave measures how long an actor waits until its entity is saved.
func BenchmarkSave(b *testing.B) {
	n := openNode(b, startBroker(b), newMemory(), 0)
	n.take(b)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for sequence := uint32(1); pb.Next(); sequence++ {
			if err := n.save(sequence, `{"name":"Signed up"}`); err != nil {
				b.Error(err)
			}
		}
	})
}
