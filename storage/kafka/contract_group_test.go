package kafka

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

func contractMetadata(t *testing.T, open openCluster) {
	f := newFixture(t, open, 3)
	for range 8 {
		f.produce(Part{Partition: 0, Payload: eventValue(1)})
		f.produce(Part{Partition: 1, Payload: eventValue(1)})
	}
	r := new(recorder)
	c := f.consumer(r, nil)
	stop := start(t, c.Run)
	eventually(t, "assignment", func() bool { return len(r.owned()) == 3 }, r.state)
	generation := r.assignment().Generation
	want := []Position{
		{Partition: 0, Offset: 7, Metadata: `{"first":3,"last":9}`},
		{Partition: 1, Offset: 8, Metadata: strings.Repeat("ü", MetadataBytes/2)},
		{Partition: 2, Offset: 0, Metadata: ""},
	}
	if err := c.Commit(t.Context(), generation, want); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{strings.Repeat("x", MetadataBytes+1), "\xff"} {
		if err := c.Commit(t.Context(), generation, []Position{{Partition: 0, Offset: 1, Metadata: bad}}); err == nil {
			t.Errorf("metadata %.5q of %d bytes was accepted", bad, len(bad))
		}
	}
	if got, err := c.Committed(t.Context(), []int{0, 1, 2}); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	stop()
	r2 := new(recorder)
	start(t, f.consumer(r2, nil).Run)
	eventually(t, "assignment", func() bool { return len(r2.owned()) == 3 }, r2.state)
	got := r2.assignment()
	slices.SortFunc(got.Partitions, func(a, b Position) int { return a.Partition - b.Partition })
	if !slices.Equal(got.Partitions, want) || got.Generation <= generation {
		t.Errorf("assigned %+v after generation %d", got, generation)
	}
}

func contractFenced(t *testing.T, open openCluster) {
	f := newFixture(t, open, 2)
	f.produce(Part{Partition: 0, Payload: eventValue(1)})
	f.produce(Part{Partition: 0, Payload: eventValue(2)})
	slow, fast := new(recorder), new(recorder)
	a := f.consumer(slow, func(cfg *ConsumerConfig) {
		cfg.Heartbeat = time.Hour // never notices a rebalance
		cfg.Rebalance = 300 * time.Millisecond
	})
	start(t, a.Run)
	eventually(t, "first assignment", func() bool { return len(slow.owned()) == 2 }, slow.state)
	old := slow.assignment().Generation
	if err := a.Commit(t.Context(), old, []Position{{Partition: 0, Offset: 1, Metadata: "kept"}}); err != nil {
		t.Fatal(err)
	}
	b := f.consumer(fast, func(cfg *ConsumerConfig) { cfg.Rebalance = 300 * time.Millisecond })
	start(t, b.Run)
	eventually(t, "take-over", func() bool { return len(fast.owned()) == 2 }, fast.state)
	if err := a.Commit(t.Context(), old, []Position{{Partition: 0, Offset: 2, Metadata: "stale"}}); !errors.Is(err, ErrFenced) {
		t.Errorf("broker: got %v, want ErrFenced", err)
	}
	if err := b.Commit(t.Context(), old, []Position{{Partition: 0, Offset: 2, Metadata: "stale"}}); !errors.Is(err, ErrFenced) {
		t.Errorf("member: got %v, want ErrFenced", err)
	}
	got, err := b.Committed(t.Context(), []int{0})
	if err != nil || got[0] != (Position{Partition: 0, Offset: 1, Metadata: "kept"}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func contractRebalance(t *testing.T, open openCluster) {
	f := newFixture(t, open, 5)
	members := []*recorder{{}, {}, {}}
	var stops []func()
	var before [][]int
	for n := 1; n <= 3; n++ {
		stops = append(stops, start(t, f.consumer(members[n-1], nil).Run))
		eventually(t, "balance", func() bool { return balanced(members[:n], 5) }, func() string { return states(members) })
		for i, old := range before {
			for _, p := range members[i].owned() {
				if !slices.Contains(old, p) {
					t.Errorf("member %d took %d over from another, had %v", i, p, old)
				}
			}
		}
		before = before[:0]
		for _, m := range members[:n] {
			before = append(before, m.owned())
		}
	}
	began := time.Now()
	stops[1]()
	rest := []*recorder{members[0], members[2]}
	eventually(t, "hand-over", func() bool { return balanced(rest, 5) }, func() string { return states(members) })
	if took := time.Since(began); took >= defaultSession {
		t.Errorf("hand-over waited for the end of a session: %s", took)
	}
	for i, m := range []int{0, 2} {
		for _, p := range before[m] {
			if !slices.Contains(rest[i].owned(), p) {
				t.Errorf("member %d lost %d for no reason", m, p)
			}
		}
	}
}

// balanced reports whether the members own each partition once, and whether their counts differ by at most one.
func balanced(members []*recorder, partitions int) bool {
	var all []int
	least, most := partitions, 0
	for _, m := range members {
		owned := m.owned()
		all = append(all, owned...)
		least, most = min(least, len(owned)), max(most, len(owned))
	}
	slices.Sort(all)
	return slices.Equal(all, allPartitions(partitions)) && most-least <= 1
}

func states(members []*recorder) string {
	var all []string
	for _, m := range members {
		all = append(all, m.state())
	}
	return strings.Join(all, "; ")
}

func contractOwners(t *testing.T, open openCluster) {
	f := newFixture(t, open, 4)
	a, b := new(recorder), new(recorder)
	first := f.consumer(a, node("host-a:1"))
	start(t, first.Run)
	eventually(t, "first", func() bool { return len(a.owned()) == 4 }, a.state)
	start(t, f.consumer(b, node("host-b:2")).Run)
	both := []*recorder{a, b}
	eventually(t, "both", func() bool { return balanced(both, 4) }, func() string { return states(both) })
	owners, err := first.Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*recorder{"host-a:1": a, "host-b:2": b} {
		for _, p := range r.owned() {
			if o := owners[p]; string(o.UserData) != name || o.Member != r.assignment().Member {
				t.Errorf("partition %d: got %+v, want %s", p, o, name)
			}
		}
	}
	if len(owners) != 4 {
		t.Errorf("%d owners", len(owners))
	}
}

func contractStart(t *testing.T, open openCluster) {
	f := newFixture(t, open, 1)
	for i := range uint64(10) {
		f.produce(Part{Partition: 0, Payload: eventValue(i)})
	}
	r := new(recorder)
	c := f.consumer(r, nil)
	stop := start(t, c.Run)
	eventually(t, "all", func() bool { return r.count() == 10 }, r.state)
	if err := c.Commit(t.Context(), r.assignment().Generation, []Position{{Partition: 0, Offset: 8, Metadata: ""}}); err != nil {
		t.Fatal(err)
	}
	stop()
	for start0, want := range map[int64][]uint64{-1: {8, 9}, 5: {5, 6, 7, 8, 9}} {
		r := new(recorder)
		if start0 >= 0 {
			r.starts = map[int]int64{0: start0}
		}
		stop := start(t, f.consumer(r, nil).Run)
		eventually(t, "rest", func() bool { return r.count() >= len(want) }, r.state)
		stop()
		if got := events(r.of(0)); !slices.Equal(got, want) {
			t.Errorf("start %d: got %v, want %v", start0, got, want)
		}
	}
}

func contractRepeat(t *testing.T, open openCluster) {
	f := newFixture(t, open, 1)
	f.produce(Part{Partition: 0, Payload: eventValue(1)})
	f.produce(Part{Partition: 0, Payload: eventValue(2)})
	var once sync.Once
	r := &recorder{}
	r.handle = func(context.Context, int, []Record) (err error) {
		once.Do(func() { err = errors.New("not now") })
		return err
	}
	start(t, f.consumer(r, nil).Run)
	eventually(t, "repetition", func() bool { return r.count() == 2 }, r.state)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.assigned < 2 || len(r.revoked) != r.assigned-1 {
		t.Errorf("assigned %d times, revoked %v", r.assigned, r.revoked)
	}
}

func contractBackPressure(t *testing.T, open openCluster) {
	f := newFixture(t, open, 2)
	r := &recorder{}
	r.handle = func(ctx context.Context, partition int, _ []Record) error {
		if partition == 0 {
			<-ctx.Done()
		}
		return nil
	}
	stop := start(t, f.consumer(r, nil).Run)
	for i := range uint64(20) {
		f.produce(Part{Partition: 0, Payload: eventValue(i)}, Part{Partition: 1, Payload: eventValue(i)})
	}
	eventually(t, "the free partition", func() bool { return len(r.of(1)) == 20 }, r.state)
	if n := len(r.of(0)); n != 0 {
		t.Errorf("blocked partition delivered %d", n)
	}
	stop()
}

func contractGap(t *testing.T, open openCluster) {
	f := newFixture(t, open, 1)
	for i := range uint64(10) {
		f.produce(Part{Partition: 0, Payload: eventValue(i)})
	}
	for _, before := range []int64{5, 3, 0} {
		if err := f.admin.Trim(t.Context(), map[int]int64{0: before}); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var gaps [][3]int64
	r := &recorder{starts: map[int]int64{0: 0}}
	start(t, f.consumer(r, func(cfg *ConsumerConfig) {
		cfg.Gap = func(partition int, from, to int64) {
			mu.Lock()
			defer mu.Unlock()
			gaps = append(gaps, [3]int64{int64(partition), from, to})
		}
	}).Run)
	eventually(t, "the rest", func() bool { return r.count() == 5 }, r.state)
	mu.Lock()
	defer mu.Unlock()
	if got := events(r.of(0)); !slices.Equal(got, []uint64{5, 6, 7, 8, 9}) || !slices.Equal(gaps, [][3]int64{{0, 0, 5}}) {
		t.Errorf("got %v after gaps %v", got, gaps)
	}
}

func contractCompressed(t *testing.T, open openCluster) {
	f := newFixture(t, open, 1)
	link := newLink(f.brokers, f.topic)
	defer link.close()
	codecs := []kafkago.Compression{0, kafkago.Gzip, kafkago.Snappy, kafkago.Lz4, kafkago.Zstd}
	for i, codec := range codecs {
		var records []kafkago.Record
		for j := range uint64(3) {
			records = append(records, kafkago.Record{Value: kafkago.NewBytes(eventValue(uint64(i)*3 + j))})
		}
		answer, err := link.client.Produce(t.Context(), &kafkago.ProduceRequest{
			Topic: f.topic, RequiredAcks: kafkago.RequireAll, Compression: codec,
			Records: kafkago.NewRecordReader(records...),
		})
		if err == nil {
			err = answer.Error
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r := &recorder{starts: map[int]int64{0: 1}} // the start is within a batch
	start(t, f.consumer(r, nil).Run)
	eventually(t, "all but one", func() bool { return r.count() >= 14 }, r.state)
	for i, id := range events(r.of(0)) {
		if id != uint64(i)+1 {
			t.Errorf("event %d is %d", i, id)
		}
	}
}

func contractLag(t *testing.T, open openCluster) {
	f := newFixture(t, open, 2)
	for i := range uint64(3) {
		f.produce(Part{Partition: 1, Payload: eventValue(i)})
	}
	r := new(recorder)
	c := f.consumer(r, nil)
	start(t, c.Run)
	eventually(t, "records", func() bool { return r.count() == 3 }, r.state)
	for commit, want := range []int64{3, 2, 1, 0} {
		if err := c.Commit(t.Context(), r.assignment().Generation, []Position{{Partition: 1, Offset: int64(commit), Metadata: ""}}); err != nil {
			t.Fatal(err)
		}
		lag, err := c.Lag(t.Context())
		if err != nil || lag[0] != 0 || lag[1] != want || len(lag) != 2 {
			t.Errorf("after commit %d: got %v, %v", commit, lag, err)
		}
	}
	if end, ok := c.HighWater(1); end != 3 || !ok {
		t.Errorf("high water %d, %v", end, ok)
	}
	if _, ok := c.HighWater(7); ok {
		t.Error("high water of a foreign partition")
	}
}
