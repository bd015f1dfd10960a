package actors

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"svc"
)

// toyListener notes durably which events were stored, as a module would that a listener
// makes out of rows.
type toyListener struct {
	NopListener
	p *process
}

type toyBlock struct {
	NopBlockListener
	p   *process
	saw []string
}

func (l *toyListener) Open() BlockListener { return &toyBlock{p: l.p} }

func (b *toyBlock) Saw(_ int64, rows *svc.Rows) {
	for i := range rows.Events {
		b.saw = append(b.saw, rows.Events[i].DistinctID+" "+rows.Events[i].ID)
	}
}

func (b *toyBlock) Stored(_ context.Context, block *StoredBlock) error {
	if err := b.p.step(); err != nil {
		return err
	}
	defer b.p.w.mu.Unlock()
	for _, event := range b.saw {
		b.p.w.heard[event]++
	}
	b.p.w.calls = append(b.p.w.calls, fmt.Sprintf("stored %d recovered %v", block.ID, block.Recovered))
	return nil
}

func (b *toyBlock) Committed(block uint64) {
	b.p.w.mu.Lock()
	defer b.p.w.mu.Unlock()
	b.p.w.calls = append(b.p.w.calls, fmt.Sprintf("committed %d", block))
}

// checkListener compares what the toy listener noted with what is stored.
func (w *world) checkListener(t *testing.T) {
	t.Helper()
	for _, row := range w.rows {
		if w.heard[row.DistinctID+" "+row.ID] == 0 {
			t.Errorf("the event %s is stored, and the listener does not know of it", row.ID)
		}
	}
}

// TestRecoveryRunsTheListenersOfTheSink has a node complete a block that another left, and then
// store one of its own.
func TestRecoveryRunsTheListenersOfTheSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, 2)
		p := w.start(t)
		w.generation, w.members[p] = 1, true
		for range 50 {
			w.produce(time.Now())
		}
		block := pendingBlock{id: 7, spans: []recordRange{{0, 0, 1}, {1, 0, 1}}}
		positions := []svc.LogPosition{{Partition: 0, Metadata: block.String()}, {Partition: 1, Metadata: block.String()}}
		copy(w.committed, positions)
		starts, err := p.stream.Assigned(t.Context(), svc.LogAssignment{Generation: 1, Partitions: positions})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if want := []string{"stored 7 recovered [0 1]", "committed 7"}; !slices.Equal(w.calls, want) {
			t.Errorf("recovery called %v, want %v", w.calls, want)
		}
		if err := p.stream.Records(t.Context(), 0, w.log[0][starts[0]:], int64(len(w.log[0]))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if len(w.calls) != 4 || len(w.rows) == 0 {
			t.Errorf("the sink called %v", w.calls)
		}
		w.checkListener(t)
		p.stream.Revoked(1)
		p.kill()
		time.Sleep(time.Minute)
	})
}

// brokenListener panics wherever it is called.
type brokenListener struct{ NopListener }

type brokenBlock struct{}

func (brokenListener) Open() BlockListener                     { return brokenBlock{} }
func (brokenBlock) Saw(int64, *svc.Rows)                       { panic("saw") }
func (brokenBlock) Refused(svc.LetterKind, []int)              { panic("refused") }
func (brokenBlock) Stored(context.Context, *StoredBlock) error { panic("stored") }
func (brokenBlock) Committed(uint64)                           { panic("committed") }

// TestAListenerThatPanicsStopsNobody puts one before a listener that works.
func TestAListenerThatPanicsStopsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, store := &boundedLog{committed: map[int]svc.LogPosition{}}, &blocksStored{}
		works := &countingListener{}
		sink := roomSink(store, log, nil, brokenListener{}, works)
		sink.begin(1)
		sink.append(1, recordRange{0, 0, 0}, &folded{Rows: svc.Rows{Events: make([]svc.EventRow, 3)}})
		if err := sink.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if works.rows != 3 || works.stored != 1 || works.committed != 1 || log.committed[0].Offset != 1 {
			t.Errorf("%+v, committed %+v", works, log.committed)
		}
	})
}

// countingListener counts its calls.
type countingListener struct {
	NopListener
	rows, stored, committed int
}

func (l *countingListener) Open() BlockListener                        { return l }
func (l *countingListener) Saw(_ int64, rows *svc.Rows)                { l.rows += rows.Len() }
func (l *countingListener) Refused(svc.LetterKind, []int)              {}
func (l *countingListener) Stored(context.Context, *StoredBlock) error { l.stored++; return nil }
func (l *countingListener) Committed(uint64)                           { l.committed++ }

// TestAListenerIsRepeatedAlone has a listener fail several times between two others.
func TestAListenerIsRepeatedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, store := &boundedLog{committed: map[int]svc.LogPosition{}}, &blocksStored{}
		before, after := &countingListener{}, &countingListener{}
		fails := &failingListener{times: 3}
		sink := roomSink(store, log, nil, before, fails, after)
		sink.begin(1)
		sink.append(1, recordRange{0, 0, 0}, &folded{Rows: svc.Rows{Events: make([]svc.EventRow, 1)}})
		if err := sink.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if before.stored != 1 || fails.stored != 4 || after.stored != 1 || len(store.rows) != 1 {
			t.Errorf("called %d, %d and %d times; %d inserts", before.stored, fails.stored, after.stored, len(store.rows))
		}
	})
}

// failingListener fails so many times.
type failingListener struct {
	countingListener
	times int
}

func (l *failingListener) Open() BlockListener { return l }

func (l *failingListener) Stored(context.Context, *StoredBlock) error {
	if l.stored++; l.stored <= l.times {
		return errStoreAway
	}
	return nil
}
