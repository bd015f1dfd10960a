package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"svc/storage/kafka/broker"
)

const testTopic = "state"

// patience bounds every wait of the tests.
const patience = 30 * time.Second

// startBroker returns an embedded broker on a folder.
func startBroker(t testing.TB, cfg broker.Config) *broker.Broker {
	t.Helper()
	cfg.Topics, cfg.Logger = []string{"ingest", testTopic}, slog.New(slog.DiscardHandler)
	b, err := broker.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// cluster is where a test finds its log.
type cluster struct {
	brokers    []string
	topic      string
	partitions int
}

// start returns a cluster of an embedded broker with the topic of a log.
func start(t testing.TB, partitions int) *cluster {
	t.Helper()
	b := startBroker(t, broker.Config{Dir: t.TempDir(), Partitions: partitions})
	c := &cluster{b.Addrs(), testTopic, partitions}
	ensure(t, c.open(t, "ensure"))
	return c
}

func ensure(t testing.TB, l *Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := l.Ensure(ctx); err != nil {
		t.Fatal(err)
	}
}

// open returns a log of a process with a name.
func (c *cluster) open(t testing.TB, name string) *Log {
	t.Helper()
	l, err := Open(Config{Brokers: c.brokers, Topic: c.topic, Partitions: c.partitions, Name: name, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// memory is what a reader of a partition knows.
type memory struct {
	mu     sync.Mutex
	values map[string]string
	void   []string
	at     Position
	gaps   int
}

func (m *memory) each(entries []Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string]string{}
	}
	for _, e := range entries {
		switch {
		case e.Void:
			m.void = append(m.void, e.Key)
		case e.Value == nil:
			delete(m.values, e.Key)
		default:
			m.values[e.Key] = string(e.Value)
		}
	}
}

func (m *memory) met(keys []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.void = append(m.void, keys...)
}

// String returns the values and the void keys.
func (m *memory) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fmt.Sprint(m.values, m.void)
}

// sink returns a sink that keeps one partition in the memory.
func (m *memory) sink() Sink {
	return Sink{
		Each: func(_ int, entries []Entry, at Position) {
			m.each(entries)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.at = at
		},
		Gap: func(int) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.values, m.void, m.gaps = nil, nil, m.gaps+1
		},
	}
}

func take(t testing.TB, l *Log, from Position) (*Owner, *memory) {
	t.Helper()
	m := new(memory)
	o, err := l.Take(t.Context(), 0, from, m.each, m.met)
	if err != nil {
		t.Fatal(err)
	}
	return o, m
}

func put(t testing.TB, o *Owner, key, value string) {
	t.Helper()
	if err := o.Save(t.Context(), []Record{{key, []byte(value)}}); err != nil {
		t.Fatal(err)
	}
}

// expect compares what a reader knows.
func expect(t testing.TB, who string, m *memory, want string) {
	t.Helper()
	if got := m.String(); got != want {
		t.Errorf("%s knows %s, want %s", who, got, want)
	}
}

// TestASuccessorKnowsWhatWasSaved hands a partition over.
func TestASuccessorKnowsWhatWasSaved(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	first, _ := take(t, c.open(t, "first"), Position{})
	put(t, first, "a", "1")
	put(t, first, "b", "2")
	middle := first.Position()
	put(t, first, "a", "3")
	if err := first.Save(t.Context(), []Record{{"b", nil}, {"c", []byte("4")}, {"d", []byte{}}}); err != nil {
		t.Fatal(err)
	}
	second, whole := take(t, c.open(t, "second"), Position{})
	expect(t, "the successor", whole, "map[a:3 c:4 d:] []")
	if err := first.Save(t.Context(), []Record{{"a", []byte("5")}}); !errors.Is(err, ErrLost) {
		t.Errorf("the predecessor saved, %v", err)
	}
	select {
	case <-first.Lost():
	default:
		t.Error("the predecessor does not know that it is one")
	}
	put(t, second, "a", "6")
	_, tail := take(t, c.open(t, "third"), middle)
	expect(t, "one who begins in the middle", tail, "map[a:6 c:4 d:] []")
}

// forge appends a record under a reign without a producer, as a predecessor does whose producer
// the brokers have forgotten.
func forge(t testing.TB, l *Log, what kind, reign Reign, key, value string) {
	t.Helper()
	batch := encode(what, reign, []Record{{key, []byte(value)}}, time.Now())
	stamp(batch, identity{-1, -1, -1})
	if _, err := l.sender.send(t.Context(), 0, batch); err != nil {
		t.Fatal(err)
	}
}

// TestAForgottenPredecessorIsVoid has a predecessor's write arrive after the brokers have
// forgotten its producer.
func TestAForgottenPredecessorIsVoid(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	l := c.open(t, "first")
	first, _ := take(t, l, Position{})
	put(t, first, "a", "1")
	second, m := take(t, c.open(t, "second"), Position{})
	put(t, second, "a", "2")
	forge(t, l, owned, first.reign, "a", "3")
	put(t, second, "b", "4")
	if !slices.Equal(m.void, []string{"a"}) {
		t.Errorf("the owner met the void records %v", m.void)
	}
	_, third := take(t, c.open(t, "third"), Position{})
	expect(t, "the third", third, "map[a:2 b:4] [a]")

	// Its barrier, too, may come late. Then the partition is its own, and the owner hears of it
	// before it acknowledges anything.
	fourth, _ := take(t, l, Position{})
	late := newReign()
	forge(t, l, barrier, late, barrierKey(late), "late")
	if err := fourth.Save(t.Context(), []Record{{"a", []byte("5")}}); !errors.Is(err, ErrLost) {
		t.Errorf("a save behind a foreign barrier: %v", err)
	}
	_, fifth := take(t, l, Position{})
	expect(t, "the fifth", fifth, "map[a:2 b:4] [a a]")
}

// TestSavesAreBatched has many save at once.
func TestSavesAreBatched(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	o, _ := take(t, c.open(t, "one"), Position{})
	var wg sync.WaitGroup
	for n := range 500 {
		wg.Go(func() { put(t, o, fmt.Sprint("key-", n), fmt.Sprint(n)) })
	}
	wg.Wait()
	o.Close()
	if err := o.Save(context.Background(), []Record{{"x", nil}}); !errors.Is(err, ErrLost) {
		t.Errorf("a closed owner saved, %v", err)
	}
	_, m := take(t, c.open(t, "two"), Position{})
	if len(m.values) != 500 || m.values["key-321"] != "321" {
		t.Errorf("%d values", len(m.values))
	}
}

// TestWhatIsNoSaveIsRefused tries records that a batch cannot hold.
func TestWhatIsNoSaveIsRefused(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	o, _ := take(t, c.open(t, "one"), Position{})
	for name, test := range map[string]struct {
		record Record
		want   error
	}{
		"no key":          {Record{"", []byte("1")}, errKey},
		"the log's key":   {Record{barrierKey(1), []byte("1")}, errKey},
		"more than a lot": {Record{"a", make([]byte, largestBatch)}, ErrTooLarge},
	} {
		if err := o.Save(t.Context(), []Record{test.record}); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	large := bytes.Repeat([]byte("x"), batchRoom-1-recordRoom)
	if err := o.Save(t.Context(), []Record{{"a", large}}); err != nil {
		t.Errorf("the largest save: %v", err)
	}
	_, m := take(t, c.open(t, "two"), Position{})
	if m.values["a"] != string(large) {
		t.Errorf("%d of %d bytes are there", len(m.values["a"]), len(large))
	}
}

// TestFreeRecordsCount appends records of several processes between the saves of an owner.
func TestFreeRecordsCount(t *testing.T) {
	t.Parallel()
	c := start(t, 2)
	o, _ := take(t, c.open(t, "owner"), Position{})
	others := []*Log{c.open(t, "one"), c.open(t, "two")}
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() { put(t, o, fmt.Sprint("save-", n), "s") })
		for who, l := range others {
			wg.Go(func() {
				if err := l.Append(t.Context(), 0, []Record{{fmt.Sprint("free-", who, "-", n), []byte("f")}}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	_, m := take(t, c.open(t, "reader"), Position{})
	if len(m.values) != 150 || len(m.void) > 0 {
		t.Errorf("%d records count, %d are void", len(m.values), len(m.void))
	}
}

// TestMarksAreKnownEverywhere notes positions and reads them in another process.
func TestMarksAreKnownEverywhere(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	one, other := c.open(t, "one"), c.open(t, "other")
	marks, err := other.Marks(t.Context())
	if err != nil || !slices.Equal(marks, make([]Position, 3)) {
		t.Fatalf("before any mark there are %v, %v", marks, err)
	}
	want := []Position{{}, {17, 1<<64 - 1}, {5, 3}}
	if err := one.Mark(t.Context(), map[int]Position{1: want[1], 2: want[2]}); err != nil {
		t.Fatal(err)
	}
	if marks, err = other.Marks(t.Context()); err != nil || !slices.Equal(marks, want) {
		t.Errorf("the marks are %v, %v; want %v", marks, err, want)
	}
}
