package issues

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/pipeline"
	"svc/domain/event"
	"svc/domain/ingest"
)

// toyListener durably records the stored events, as a module would that makes data out of rows.
type toyListener struct {
	pipeline.NopListener
	p *process
}

type toyBlock struct {
	pipeline.NopBlockListener
	p   *process
	saw []string
}

func (l *toyListener) Open() pipeline.BlockListener { return &toyBlock{p: l.p} }

func (b *toyBlock) Saw(_ int64, rows *ingest.Rows) {
	for i := range rows.Events {
		b.saw = append(b.saw, rows.Events[i].DistinctID+" "+rows.Events[i].ID)
	}
}

func (b *toyBlock) Stored(_ context.Context, block *pipeline.StoredBlock) error {
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

// called returns the calls of the toy listener so far.
func (w *world) called() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls)
}

// checkListener compares the records of the toy listener with the stored rows.
func (w *world) checkListener(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, row := range w.rows {
		if w.heard[row.DistinctID+" "+row.ID] == 0 {
			t.Errorf("the event %s is stored, and the listener does not know of it", row.ID)
		}
	}
}

// TestRecoveryRunsTheListenersOfTheSink lets a node complete a block that another left, and then store one of its own.
func TestRecoveryRunsTheListenersOfTheSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1, 2, 1)
		p := w.start(t)
		w.generation, w.members[p] = 1, true
		for range 50 {
			w.produce(time.Now())
		}
		positions := []event.LogPosition{{Partition: 0, Metadata: interrupted}, {Partition: 1, Metadata: interrupted}}
		copy(w.committed, positions)
		starts, err := p.stream.Assigned(t.Context(), event.LogAssignment{Generation: 1, Partitions: positions})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if calls, want := w.called(), []string{"stored 7 recovered [0 1]", "committed 7"}; !slices.Equal(calls, want) {
			t.Errorf("recovery called %v, want %v", calls, want)
		}
		if err := p.stream.Records(t.Context(), 0, w.log[0][starts[0]:], int64(len(w.log[0]))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		own := w.called()[2:] // the sink may have made several blocks
		if len(own) == 0 || strings.Contains(strings.Join(own, ""), "[0 1]") || !strings.HasPrefix(own[len(own)-1], "committed") {
			t.Errorf("the sink called %v", own)
		}
		w.checkListener(t)
		p.stream.Revoked(1)
		p.kill()
		time.Sleep(time.Minute)
	})
}
