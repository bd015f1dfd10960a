package issues

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"svc/domain/event"
)

// interrupted is the text next to the offsets of a block with the number 7 of the first two records of two partitions.
const interrupted = "block1 7 0,0,1 1,0,1"

// TestNobodyGoesPastABlockThatWasNotBegun is a case that random faults meet too rarely. A node died while it wrote the
// boundaries of a block, and its partitions have two successors. The successor with the partition without a text must
// not go past the block before the other one has looked, or the block would look stored.
func TestNobodyGoesPastABlockThatWasNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, 2, 1)
		p := w.start(t)
		w.generation, w.members[p] = 1, true
		for range 50 {
			w.produce(time.Now())
		}
		w.committed[0] = event.LogPosition{Partition: 0, Metadata: interrupted}
		starts, err := p.stream.Assigned(t.Context(), event.LogAssignment{Generation: 1, Partitions: []event.LogPosition{w.committed[1]}})
		if err != nil || starts[1] != 0 {
			t.Fatalf("starts at %v, %v", starts, err)
		}
		folded := make(chan error, 1)
		go func() { folded <- p.stream.Records(t.Context(), 1, w.log[1], int64(len(w.log[1]))) }()
		time.Sleep(time.Minute)
		select {
		case err := <-folded:
			t.Fatalf("records were folded while the text stood beside partition 0: %v", err)
		default:
		}
		w.mu.Lock()
		w.committed[0].Metadata = ""
		w.mu.Unlock()
		if err := <-folded; err != nil {
			t.Error(err)
		}
		p.stream.Revoked(1)
		p.kill()
		time.Sleep(time.Minute)
	})
}

// TestWhatRecoveryStoresIsCounted lets a node find a block with boundaries that stand everywhere.
func TestWhatRecoveryStoresIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, 2, 1)
		p := w.start(t)
		w.generation, w.members[p] = 1, true
		for range 50 {
			w.produce(time.Now())
		}
		positions := []event.LogPosition{{Partition: 0, Metadata: interrupted}, {Partition: 1, Metadata: interrupted}}
		copy(w.committed, positions)
		if _, err := p.stream.Assigned(t.Context(), event.LogAssignment{Generation: 1, Partitions: positions}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if rows := countOf(t, p.metrics.Rows); len(w.rows) == 0 || rows != float64(len(w.rows)) {
			t.Errorf("%v rows are counted, %d are stored", rows, len(w.rows))
		}
		p.stream.Revoked(1)
		p.kill()
		time.Sleep(time.Minute)
	})
}

// TestAShortGenerationCompletesItsPart lets a node find an interrupted block. Reading the states of the block's
// partitions takes longer than any of its generations lasts.
func TestAShortGenerationCompletesItsPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, 2, 1)
		w.slow = 10 * time.Second
		p := w.start(t)
		for range 50 {
			w.produce(time.Now())
		}
		positions := []event.LogPosition{{Partition: 0, Metadata: interrupted}, {Partition: 1, Metadata: interrupted}}
		copy(w.committed, positions)
		for generation := range int32(20) {
			w.mu.Lock()
			w.generation, w.members[p] = generation+1, true
			positions := slices.Clone(w.committed)
			w.mu.Unlock()
			if _, err := p.stream.Assigned(t.Context(), event.LogAssignment{Generation: generation + 1, Partitions: positions}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
			p.stream.Revoked(generation + 1)
		}
		if len(w.rows) == 0 || w.committed[0].Metadata != "" {
			t.Errorf("after 20 generations %d rows are stored and the positions are %+v", len(w.rows), w.committed)
		}
		p.kill()
		time.Sleep(time.Minute)
	})
}

// countOf returns the value of a counter.
func countOf(t *testing.T, counter prometheus.Counter) float64 {
	t.Helper()
	var out dto.Metric
	if err := counter.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.GetCounter().GetValue()
}
