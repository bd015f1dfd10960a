package telemetry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc/actors/actorstest"
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/protos"
)

// desk is one telemetry actor that restores its stored state before every call.
type desk struct {
	t        *testing.T
	policies *Policies
	stored   map[string]domain.Entity
	ids      int
	// calls counts the calls of each method.
	calls map[string]int
}

func (d *desk) core() *telemetryActor {
	core := &telemetryActor{publish: func(version domain.Version, state *telemetry.State) { d.policies.Publish(version, state) }, newID: func(prefix string) string { d.ids++; return fmt.Sprint(prefix, d.ids) }}
	return actorstest.Restored(d.t, core, d.stored)
}

// Call plays a call.
func (d *desk) Call(_ context.Context, call *protos.Call) (*protos.Answer, error) {
	d.calls[call.Method]++
	outcome, err := telemetryKind.Apply(d.core(), time.Now(), call.Method, call.Payload)
	if err != nil {
		return nil, err
	}
	actorstest.Keep(d.t, d.stored, outcome.Writes)
	if outcome.After != nil {
		outcome.After(domain.Version{})
	}
	payload, err := json.Marshal(outcome.Answer)
	return &protos.Answer{Payload: payload}, err
}

// arrivals is a store in which events have arrived every minute for weeks, until they stop.
type arrivals struct {
	began time.Time

	mu   sync.Mutex
	last time.Time
}

// arrive adds an event now.
func (a *arrivals) arrive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = time.Now()
}

func (a *arrivals) StoredSince(context.Context, []uint64, time.Time) (map[uint64]map[ingest.Signal]int64, error) {
	return map[uint64]map[ingest.Signal]int64{1: {ingest.SignalEvents: 90}}, nil
}

func (a *arrivals) Pulses(context.Context, []uint64, time.Time) (map[uint64]map[ingest.Signal]telemetry.SignalPulse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pulse := telemetry.SignalPulse{First: a.began, Last: a.last, Minutes: 20_000, Longest: 3 * time.Minute, Second: 2 * time.Minute}
	return map[uint64]map[ingest.Signal]telemetry.SignalPulse{1: {ingest.SignalEvents: pulse}}, nil
}

// chat is a channel that fails a set number of times, and stores its notices.
type chat struct {
	mu    sync.Mutex
	fails int
	sent  []alert.Delivery
}

func (c *chat) Channels(context.Context, domain.AppRef) ([]alert.Channel, error) {
	return []alert.Channel{{ID: "chn_1"}}, nil
}

func (c *chat) Send(_ context.Context, _ alert.Channel, delivery alert.Delivery) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fails > 0 {
		c.fails--
		return true, errors.New("the chat is away")
	}
	c.sent = append(c.sent, delivery)
	return false, nil
}

// fail makes the next deliveries fail.
func (c *chat) fail(times int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fails = times
}

// received returns the delivered notices.
func (c *chat) received() []alert.Delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sent)
}

// TestTheWatchTellsOnce lets events stop while a watch dies and another begins, a channel fails and the store lags. The
// channel is notified once of the silence, once of its end, and once of the budget.
func TestTheWatchTellsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		policy := telemetry.DefaultTelemetryPolicy()
		budget := int64(100)
		policy.Events.MonthlyBudget, policy.Alerts.SilentSignals, policy.Alerts.ChannelIDs = &budget, true, []string{"chn_1"}
		d := &desk{t: t, policies: NewPolicies(), stored: map[string]domain.Entity{}, calls: map[string]int{}}
		at := place{App: domain.AppRef{Org: "acme", App: "web"}, Env: "production", Environment: 1}
		if _, err := telemetryUpdate.Ask(t.Context(), d, "acme/web/production", updatePolicy{Place: at, Policy: policy}); err != nil {
			t.Fatal(err)
		}
		store, told := &arrivals{began: now.AddDate(0, 0, -20), last: now}, &chat{fails: 2}
		var lag atomic.Int64
		begin := func() (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			watch := &Watch{
				Policies: d.policies, Usage: store, Actors: d, Channels: told, Sender: told, Owns: func() bool { return true },
				Lag: func() time.Duration { return time.Duration(lag.Load()) }, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			}
			go func() { _ = watch.Run(ctx) }()
			return cancel
		}
		pass := func(span time.Duration) { time.Sleep(span); synctest.Wait() }
		want := func(step string, notices int) {
			t.Helper()
			if sent := told.received(); len(sent) != notices {
				t.Fatalf("%s: the channel was told %d times: %+v", step, len(sent), sent)
			}
		}
		stop := begin()
		pass(5 * time.Minute)
		want("the budget alone", 1)
		lag.Store(int64(time.Minute))
		pass(10 * time.Minute)
		want("the store lags", 1)
		lag.Store(0)
		pass(time.Minute)
		want("it has just caught up", 1)
		told.fail(3)
		pass(7 * time.Minute)
		stop()
		if state := d.policies.Telemetry(1); len(state.Silent) != 1 || len(state.Deliveries) != 1 {
			t.Fatalf("silent are %v, %d notices wait", state.Silent, len(state.Deliveries))
		}
		stop = begin()
		pass(time.Hour)
		want("a successor tells what waits", 2)
		store.arrive()
		pass(5 * time.Minute)
		want("back", 3)
		pass(30 * time.Minute)
		want("stopped again", 4)
		stop()
		pass(time.Minute)
		sent := told.received()
		for n, event := range []alert.NoticeEvent{alert.NoticeOpen, alert.NoticeOpen, alert.NoticeResolved, alert.NoticeOpen} {
			if sent[n].Notice.Event != event {
				t.Errorf("notice %d is %s", n, sent[n].Notice.Event)
			}
		}
		if asked := d.calls["evaluate"]; asked > 8 {
			t.Errorf("the actor was asked %d times for four changes", asked)
		}
	})
}

var _ grain.Caller = (*desk)(nil)
