package alerting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/grain"
	"svc/actors/pipeline"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/event"
	"svc/domain/ingest"
	"svc/protos"
)

// openOrders is an open block with orders. It counts how often it is to be stored at once.
type openOrders struct {
	listener *CountListener
	hurried  atomic.Int64

	mu    sync.Mutex
	block pipeline.BlockListener
}

func (o *openOrders) Peek(show func(listener pipeline.BlockListener)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	show(o.block)
}

func (o *openOrders) Hurry() { o.hurried.Add(1) }

// order adds an order.
func (o *openOrders) order() {
	row := event.Row{EnvironmentNumber: 1}
	row.Name, row.Ts = "order", time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.block.Saw(1, &ingest.Rows{Events: []event.Row{row}})
}

// next opens a block and returns the previous one.
func (o *openOrders) next() pipeline.BlockListener {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.block
	o.block = o.listener.Open()
	return before
}

// publishing counts orders of open blocks for a rule and reports them to an alerting actor.
func publishing(t *testing.T, alerting grain.Caller, test func(t *testing.T, blocks *openOrders)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rule := alert.Rule{ID: "alr_1", Number: 1, Spec: alert.Spec{Kind: alert.EventVolume, Comparator: "gte", Enabled: true, WindowMinutes: 5}}
		rule.Condition.Name = "order"
		index, logger := NewRuleIndex(), slog.New(slog.DiscardHandler)
		index.Publish(domain.Version{Generation: 1}, web(), []alert.Rule{rule})
		blocks := &openOrders{listener: &CountListener{Rules: index, Alerts: taken{}, Now: time.Now, Logger: logger}}
		blocks.next()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- (&OpenBlockPublisher{Rules: index, Actors: alerting, Sinks: blocks, Logger: logger}).Run(ctx)
		}()
		test(t, blocks)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// taken receives the counts of blocks.
type taken struct{}

func (taken) ReportCounts(context.Context, domain.AppRef, countReport) error { return nil }

// lateAlerting fails the first reports and answers the later ones.
type lateAlerting struct {
	failures int64
	asked    atomic.Int64
}

func (l *lateAlerting) Call(context.Context, *protos.Call) (*protos.Answer, error) {
	if l.asked.Add(1) <= l.failures {
		return nil, errors.New("the alerting does not answer")
	}
	return &protos.Answer{Payload: []byte(`{"look":true}`)}, nil
}

// TestAReportThatFailedIsMadeAgain has an alerting actor that answers only the third report of an open block. Nothing
// else arrives, and the block is still stored early, once.
func TestAReportThatFailedIsMadeAgain(t *testing.T) {
	alerting := &lateAlerting{failures: 2}
	publishing(t, alerting, func(t *testing.T, blocks *openOrders) {
		blocks.order()
		time.Sleep(5 * time.Second)
		if asked, hurried := alerting.asked.Load(), blocks.hurried.Load(); asked != 3 || hurried != 1 {
			t.Errorf("the actor was asked %d times and the block hurried %d times, want 3 and 1", asked, hurried)
		}
	})
}

// countingAlerting asks for an early store of a block if it makes three orders together with the stored ones.
type countingAlerting struct{ stored atomic.Int64 }

func (c *countingAlerting) Call(_ context.Context, call *protos.Call) (*protos.Answer, error) {
	var report openBlockReport
	if err := json.Unmarshal(call.Payload, &report); err != nil {
		return nil, err
	}
	orders := c.stored.Load()
	for _, one := range report.Counts {
		for _, slot := range one.Slots {
			orders += int64(slot.Count)
		}
	}
	return &protos.Answer{Payload: fmt.Appendf(nil, `{"look":%t}`, orders >= 3)}, nil
}

// TestWhatCameWhileABlockWasStored adds a third order while the block with the first two is stored. Nothing else
// arrives. Since the block is stored, the third order is reported once more, and the rule fires.
func TestWhatCameWhileABlockWasStored(t *testing.T) {
	alerting := &countingAlerting{}
	publishing(t, alerting, func(t *testing.T, blocks *openOrders) {
		blocks.order()
		blocks.order()
		before := blocks.next()
		blocks.order()
		time.Sleep(5 * time.Second)
		if hurried := blocks.hurried.Load(); hurried != 0 {
			t.Errorf("the block was hurried %d times with one order", hurried)
		}
		alerting.stored.Store(2)
		if err := before.Stored(t.Context(), pipeline.NewStoredBlock(&pipeline.Sink{}, 1, 1, nil)); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Second)
		if hurried := blocks.hurried.Load(); hurried != 1 {
			t.Errorf("the block was hurried %d times with the third order, want once", hurried)
		}
	})
}
