package alerting

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc"
	"svc/actors/pipeline"
	"svc/protos"
)

// openOrders is an open block with orders, and counts how often it is to be stored at once.
type openOrders struct {
	block   pipeline.BlockListener
	hurried atomic.Int64
}

func (o *openOrders) Peek(show func(listener pipeline.BlockListener)) { show(o.block) }
func (o *openOrders) Hurry()                                          { o.hurried.Add(1) }

// lateAlerting answers reports only after some that failed.
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

// TestAReportThatFailedIsMadeAgain has the alerting actor answer the third report of an open block. Nothing else arrives, and the block is
// stored early all the same, once.
func TestAReportThatFailedIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := svc.AlertRule{ID: "alr_1", Number: 1, AlertSpec: svc.AlertSpec{Kind: svc.AlertEventVolume, Comparator: "gte", Enabled: true, WindowMinutes: 5}}
		rule.Condition.Name = "order"
		index, logger := NewRuleIndex(), slog.New(slog.DiscardHandler)
		index.Publish(svc.Version{Generation: 1}, web(), []svc.AlertRule{rule})
		blocks := &openOrders{block: (&CountListener{Rules: index, Now: time.Now, Logger: logger}).Open()}
		alerting := &lateAlerting{failures: 2}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- (&OpenBlockPublisher{Rules: index, Actors: alerting, Sinks: blocks, Logger: logger}).Run(ctx)
		}()
		row := svc.EventRow{EnvironmentNumber: 1}
		row.Name, row.Ts = "order", time.Now()
		blocks.block.Saw(1, &svc.Rows{Events: []svc.EventRow{row}})
		time.Sleep(5 * time.Second)
		if asked, hurried := alerting.asked.Load(), blocks.hurried.Load(); asked != 3 || hurried != 1 {
			t.Errorf("the actor was asked %d times and the block hurried %d times, want 3 and 1", asked, hurried)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
