package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestContractEmbedded(t *testing.T) { runContract(t, embedded(false)) }

func TestContractEmbeddedForced(t *testing.T) { runContract(t, embedded(true)) }

// TestContractKafka runs the contract against the Kafka cluster that SVC_TEST_KAFKA names. `make test-kafka` starts
// one.
func TestContractKafka(t *testing.T) {
	brokers := strings.Split(os.Getenv("SVC_TEST_KAFKA"), ",")
	if brokers[0] == "" {
		t.Skip("SVC_TEST_KAFKA names no Kafka")
	}
	runContract(t, func(t testing.TB, partitions int) *cluster {
		t.Helper()
		return ensured(t, &cluster{brokers, fmt.Sprintf("state%x", time.Now().UnixNano()), partitions, true})
	})
}

// runContract checks the guarantees of the package on any Kafka cluster.
func runContract(t *testing.T, open openCluster) {
	cases := []struct {
		name string
		test func(*testing.T, openCluster)
	}{
		{"a successor knows what was saved", contractSuccessor},
		{"a forgotten predecessor is void", contractForgotten},
		{"a predecessor that stood still is refused", contractPaused},
		{"saves are batched", contractBatching},
		{"what is no save is refused", contractRefused},
		{"free records count", contractFree},
		{"marks are known everywhere", contractMarks},
		{"a follower sees everything in order", contractFollow},
		{"a follower that stood still knows that it did", contractStill},
		{"an idle owner hears of its successor", contractIdle},
		{"a follower reads up to what was saved", contractSync},
		{"what is trimmed was saved again", contractTrim},
		{"a trimmed position is a gap", contractGap},
		{"the sizes grow with the log", contractSizes},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, open)
		})
	}
}

// contractSuccessor moves a partition to another owner.
func contractSuccessor(t *testing.T, open openCluster) {
	c := open(t, 1)
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

// forge appends a record under a reign without a producer. A predecessor does the same when the brokers have forgotten
// its producer.
func forge(t testing.TB, l *Log, what kind, reign Reign, key, value string) {
	t.Helper()
	batch := encode(what, reign, []Record{{key, []byte(value)}}, time.Now())
	stamp(batch, identity{-1, -1, -1})
	if _, err := l.sender.send(t.Context(), 0, batch); err != nil {
		t.Fatal(err)
	}
}

// contractForgotten lets a predecessor's write arrive after the brokers have forgotten its producer.
func contractForgotten(t *testing.T, open openCluster) {
	c := open(t, 1)
	l := c.open(t, "first")
	first, _ := take(t, l, Position{})
	put(t, first, "a", "1")
	second, m := take(t, c.open(t, "second"), Position{})
	put(t, second, "a", "2")
	forge(t, l, owned, first.Position().Reign, "a", "3")
	put(t, second, "b", "4")
	if !slices.Equal(m.void, []string{"a"}) {
		t.Errorf("the owner met the void records %v", m.void)
	}
	_, third := take(t, c.open(t, "third"), Position{})
	expect(t, "the third", third, "map[a:2 b:4] [a]")

	// The predecessor's barrier may also arrive late. The partition is then the predecessor's, and the owner notices
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

// contractBatching saves from many callers at the same time.
func contractBatching(t *testing.T, open openCluster) {
	c := open(t, 1)
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

// contractRefused tries records that do not fit into a batch.
func contractRefused(t *testing.T, open openCluster) {
	c := open(t, 1)
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

// contractFree appends records of several processes between the saves of an owner.
func contractFree(t *testing.T, open openCluster) {
	c := open(t, 2)
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

// contractMarks stores positions and reads them in another process.
func contractMarks(t *testing.T, open openCluster) {
	c := open(t, 3)
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

// contractPaused stops a predecessor between the decision to save and the sending.
func contractPaused(t *testing.T, open openCluster) {
	c := open(t, 1)
	wire := newGate()
	first, _ := take(t, c.openOver(t, "first", wire.Dial), Position{})
	put(t, first, "a", "1")
	resume := wire.stop()
	late := make(chan error, 1)
	go func() { late <- first.Save(context.Background(), []Record{{"a", []byte("late")}, {"new", nil}}) }()
	eventually(t, "the save is on its way", func() bool {
		first.queue.mu.Lock()
		defer first.queue.mu.Unlock()
		return first.queue.running && len(first.queue.waiting) == 0
	})
	second, m := take(t, c.open(t, "second"), Position{})
	put(t, second, "a", "2")
	resume()
	if err := <-late; !errors.Is(err, ErrLost) {
		t.Errorf("the late save: %v, want ErrLost", err)
	}
	select {
	case <-first.Lost():
	default:
		t.Error("the predecessor does not know that it is one")
	}
	put(t, second, "b", "3")
	_, third := take(t, c.open(t, "third"), Position{})
	expect(t, "the third", third, "map[a:2 b:3] []") // not even void: the broker refused it
	expect(t, "the second", m, "map[a:1] []")
}

// follow starts a follower at the start of a log.
func follow(t testing.TB, l *Log, m *memory) *Follower {
	t.Helper()
	f, err := l.Follow(t.Context(), make([]Position, l.cfg.Partitions), m.sink())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// await waits until a follower has read the current end of the log.
func await(t testing.TB, l *Log, f *Follower) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ends, err := l.Ends(ctx)
	if err == nil {
		err = f.Await(ctx, ends)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// contractFollow reads while other callers write to several partitions.
func contractFollow(t *testing.T, open openCluster) {
	const partitions, each = 4, 60
	c := open(t, partitions)
	l := c.open(t, "one")
	var mu sync.Mutex
	seen := make([][]string, partitions)
	offsets := make([]int64, partitions)
	f, err := c.open(t, "follower").Follow(t.Context(), make([]Position, partitions), Sink{
		Each: func(partition int, entries []Entry, at Position) {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range entries {
				if e.Offset < offsets[partition] {
					t.Errorf("partition %d: offset %d comes after %d", partition, e.Offset, offsets[partition]-1)
				}
				offsets[partition] = e.Offset + 1
				seen[partition] = append(seen[partition], string(e.Value))
			}
			if at.Offset < offsets[partition] {
				t.Errorf("partition %d: the position %d is before the last entry", partition, at.Offset)
			}
		},
		Gap: func(partition int) { t.Errorf("a gap in partition %d", partition) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := make([]string, each)
	for n := range want {
		want[n] = fmt.Sprint(n)
	}
	var all sync.WaitGroup
	for p := range partitions {
		all.Go(func() {
			o, err := l.Take(t.Context(), p, Position{}, func([]Entry) {}, func([]string) {})
			if err != nil {
				t.Error(err)
				return
			}
			for n := range each {
				put(t, o, "key", want[n])
			}
		})
	}
	all.Wait()
	await(t, l, f)
	mu.Lock()
	defer mu.Unlock()
	for p := range seen {
		if !slices.Equal(seen[p], want) {
			t.Errorf("partition %d: %v", p, seen[p])
		}
	}
}

// contractStill stops a follower's process and checks that its own report afterwards is true.
func contractStill(t *testing.T, open openCluster) {
	c := open(t, 1)
	l, wire, m := c.open(t, "one"), newGate(), new(memory)
	o, _ := take(t, l, Position{})
	put(t, o, "a", "1")
	f := follow(t, c.openOver(t, "follower", wire.Dial), m)
	await(t, l, f)
	resume := wire.stop()
	put(t, o, "a", "2")
	ends, err := l.Ends(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const still = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), still)
	defer cancel()
	if err := f.Await(ctx, ends); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it has read what it could not, %v", err)
	}
	if lag := f.Lag(); lag < still {
		t.Errorf("it says that it knew everything %s ago", lag)
	}
	resume()
	await(t, l, f)
	expect(t, "the follower", m, "map[a:2] []")
	eventually(t, "it is certain again", func() bool { return f.Lag() < 2*followWait })
}

// contractIdle takes a partition from an owner that saves nothing, and lets a void record appear.
func contractIdle(t *testing.T, open openCluster) {
	c := open(t, 1)
	l := c.open(t, "first")
	first, m := take(t, l, Position{})
	follow(t, l, new(memory))
	forge(t, l, owned, newReign(), "a", "void")
	eventually(t, "the owner hears of a void record", func() bool { return m.String() == "map[] [a]" })
	second := c.open(t, "second")
	owner, _ := take(t, second, Position{})
	select {
	case <-first.Lost():
	case <-time.After(patience):
		t.Error("the first owner heard nothing")
	}
	select {
	case <-owner.Lost():
		t.Error("the second owner is lost")
	default:
	}
}

// contractTrim begins a checkpoint, saves the live records again and trims, while followers read.
func contractTrim(t *testing.T, open openCluster) {
	c := open(t, 1)
	l, late := c.open(t, "one"), new(memory)
	o, _ := take(t, l, Position{})
	live := new(memory)
	f := follow(t, c.open(t, "live"), live)
	for n := range 50 {
		put(t, o, fmt.Sprint("key-", n%5), fmt.Sprint(n))
	}
	if err := o.Save(t.Context(), []Record{{"key-0", nil}}); err != nil {
		t.Fatal(err)
	}
	old := o.Position().Reign
	at, err := o.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forge(t, l, owned, old, "key-1", "void") // sent before the checkpoint, arrives after it
	for n := 46; n < 50; n++ {
		put(t, o, fmt.Sprint("key-", n%5), fmt.Sprint(n))
	}
	if err := l.Trim(t.Context(), 0, at); err != nil {
		t.Fatal(err)
	}
	if starts, err := l.Starts(t.Context()); err != nil || starts[0] != at {
		t.Errorf("the log starts at %v, want %d, %v", starts, at, err)
	}
	put(t, o, "key-1", "after")
	want := "map[key-1:after key-2:47 key-3:48 key-4:49] [key-1]"
	await(t, l, f)
	expect(t, "the live follower", live, want)
	await(t, l, follow(t, c.open(t, "late"), late))
	expect(t, "the late follower", late, want)
	second, whole := take(t, c.open(t, "second"), Position{})
	expect(t, "the successor", whole, want)
	put(t, second, "key-1", "saved")
}

// contractGap reads from a trimmed position and from a position after the end of the log.
func contractGap(t *testing.T, open openCluster) {
	c := open(t, 1)
	l := c.open(t, "one")
	o, _ := take(t, l, Position{})
	put(t, o, "a", "1")
	old := o.Position()
	put(t, o, "a", "2")
	at, err := o.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	put(t, o, "a", "3")
	if err := l.Trim(t.Context(), 0, at); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]Position{"a trimmed one": old, "one after the end": {1000, old.Reign}} {
		m := new(memory)
		if _, err := c.open(t, "other").Take(t.Context(), 0, from, m.each, m.met); !errors.Is(err, ErrGap) {
			t.Errorf("%s: taken, %v", name, err)
		}
		f, err := c.open(t, "follower").Follow(t.Context(), []Position{from}, m.sink())
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		eventually(t, name, func() bool { return m.String() == "map[a:3] []" })
		if m.gaps != 1 {
			t.Errorf("%s: %d gaps", name, m.gaps)
		}
	}
}

// contractSizes measures a log in which one partition grows.
func contractSizes(t *testing.T, open openCluster) {
	c := open(t, 2)
	l := c.open(t, "one")
	o, _ := take(t, l, Position{})
	put(t, o, "a", strings.Repeat("x", 10_000))
	sizes, err := l.Sizes(t.Context())
	if err != nil || len(sizes) != 2 || sizes[0] < 10_000 || sizes[0] > 20_000 || sizes[1] != 0 {
		t.Errorf("the sizes are %v, %v", sizes, err)
	}
}

// contractSync reads on one node values that were saved through another node immediately before.
func contractSync(t *testing.T, open openCluster) {
	c := open(t, 2)
	o, _ := take(t, c.open(t, "owner"), Position{})
	m := new(memory)
	f := follow(t, c.open(t, "follower"), m)
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			key := fmt.Sprint("key-", n)
			put(t, o, key, "saved")
			if err := f.Sync(t.Context()); err != nil {
				t.Error(err)
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.values[key] != "saved" {
				t.Errorf("%s is not known after it was saved", key)
			}
		})
	}
	all.Wait()
}
