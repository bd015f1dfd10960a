package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"svc/actors/enrich"
	"svc/domain/event"
	"svc/protos"
)

// places are processors.
type places chan struct{}

func (p places) Take(context.Context) error { p <- struct{}{}; return nil }
func (p places) Give()                      { <-p }

// tally counts the records that were folded.
type tally struct{ records atomic.Int64 }

func (b *tally) append(int32, recordRange, *folded) { b.records.Add(1) }

// TestFoldingTakesOneProcessorAtATime lets many partitions fold with one processor. Nothing is folded while another
// caller holds it. A caller waits for one record of each partition that asked before, not for all their records.
func TestFoldingTakesOneProcessorAtATime(t *testing.T) {
	const partitions, records = 16, 40
	synctest.Test(t, func(t *testing.T) {
		processors, done := make(places, 1), &tally{}
		value, err := protos.AppendRecord(nil, &protos.Event{Environment: 1, Id: "e", Name: event.PageView, TsMs: 1, ReceivedMs: 1, AnonymousId: "a"})
		if err != nil {
			t.Fatal(err)
		}
		delivery := make([]event.LogRecord, records)
		for n := range delivery {
			delivery[n] = event.LogRecord{Offset: int64(n), Value: value}
		}
		_ = processors.Take(t.Context())
		ends := make(chan error, partitions)
		for partition := range partitions {
			config := IntakeConfig{Locator: func() Locator { return nowhere{} }, Processors: processors, Metrics: NewIntakeMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler)}
			i := newIntake(config, partition, done)
			i.agents = enrich.NewUserAgents(2)
			i.onBegin(&begin{
				generation: 1, ids: newDedup(8), errorIDs: newDedup(8), metricIDs: newDedup(8), billings: newSaid(8), sessions: newSessionizer(), deltas: newDeltas(),
			})
			go func() { ends <- i.foldAll(1, delivery) }()
		}
		synctest.Wait()
		if n := done.records.Load(); n > 0 {
			t.Errorf("%d records were folded without a processor", n)
		}
		asked := make(chan int64, 1)
		go func() {
			_ = processors.Take(t.Context())
			asked <- done.records.Load()
			processors.Give()
		}()
		synctest.Wait()
		processors.Give()
		if before := <-asked; before > partitions {
			t.Errorf("%d records were folded first, want one of each of %d partitions", before, partitions)
		}
		for range partitions {
			if err := <-ends; err != nil {
				t.Error(fmt.Errorf("folding: %w", err))
			}
		}
		if n := done.records.Load(); n != partitions*records || len(processors) != 0 {
			t.Errorf("%d records were folded, %d processors kept", n, len(processors))
		}
	})
}
