package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"svc"
	"svc/actors/grain"
)

// MonthUsage counts what environments stored since a UTC day.
type MonthUsage interface {
	StoredSince(ctx context.Context, environments []uint64, since time.Time) (map[uint64]map[svc.Signal]int64, error)
}

// Sender sends a notice to a channel; retry reports whether another attempt may succeed.
type Sender interface {
	Send(ctx context.Context, channel svc.Channel, delivery svc.Delivery) (retry bool, err error)
}

// watchEvery is how often budgets are looked at, watchTime bounds one look.
const (
	watchEvery = 5 * time.Second
	watchTime  = 30 * time.Second
)

// Watch holds what environments store against their budgets, and delivers the notices. One node does it,
// the owner of partition 0. The actor of an environment decides, and keeps every notice until its delivery is noted, so a
// node that dies leaves them to its successor; a receiver tells a notice that comes twice by its id.
type Watch struct {
	Policies *Policies
	Usage    MonthUsage
	Actors   grain.Caller
	Channels Channels
	Sender   Sender
	Owns     func() bool
	Now      func() time.Time
	Logger   *slog.Logger
}

// Run looks until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if !w.Owns() {
			continue
		}
		look, cancel := context.WithTimeout(ctx, watchTime)
		if err := w.look(look); err != nil && ctx.Err() == nil {
			w.Logger.Warn("the telemetry budgets could not be looked at", "error", err)
		}
		cancel()
	}
}

// look evaluates all budgets once, and attempts the deliveries that are due.
func (w *Watch) look(ctx context.Context) error {
	now := w.Now().UTC()
	var states []*svc.TelemetryState
	var environments []uint64
	for _, state := range w.Policies.All() {
		hasBudget := slices.ContainsFunc(svc.Signals(), func(s svc.Signal) bool { return state.Policy.Budget(s) != nil })
		if hasBudget || len(state.Over)+len(state.Deliveries) > 0 {
			states, environments = append(states, state), append(environments, state.Environment)
		}
	}
	if len(states) == 0 {
		return nil
	}
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	used, err := w.Usage.StoredSince(ctx, environments, month)
	if err != nil {
		return err
	}
	for _, state := range states {
		if err := w.evaluate(ctx, state, svc.BudgetUse{Month: svc.MonthOf(now), Items: used[state.Environment]}, now); err != nil {
			return err
		}
	}
	return nil
}

// evaluate asks the actor of an environment where its budgets have changed, and delivers what is due.
func (w *Watch) evaluate(ctx context.Context, known *svc.TelemetryState, use svc.BudgetUse, now time.Time) error {
	state := *known
	trial := *known
	if trial.Evaluate(use, now, func(string) string { return "" }) {
		var err error
		if state, err = telemetryEvaluate.Ask(ctx, w.Actors, identity(known.App, known.Env), evaluateBudgets{use}); err != nil {
			return err
		}
	}
	due := slices.DeleteFunc(slices.Clone(state.Deliveries), func(d svc.Delivery) bool { return d.Next.After(now) })
	if len(due) == 0 {
		return nil
	}
	channels, err := w.Channels.Channels(ctx, state.App)
	if err != nil {
		return err
	}
	ends := map[string]*svc.Delivery{}
	for _, delivery := range due {
		ends[delivery.ID] = w.deliver(ctx, channels, delivery, now)
	}
	_, err = telemetryDelivered.Ask(ctx, w.Actors, identity(state.App, state.Env), noteDeliveries{ends})
	return err
}

// deliver attempts one delivery; it returns nil where there is no further attempt.
func (w *Watch) deliver(ctx context.Context, channels []svc.Channel, delivery svc.Delivery, now time.Time) *svc.Delivery {
	at := slices.IndexFunc(channels, func(c svc.Channel) bool { return c.ID == delivery.ChannelID })
	if at < 0 {
		return nil // the channel was deleted
	}
	retry, err := w.Sender.Send(ctx, channels[at], delivery)
	if err == nil {
		return nil
	}
	w.Logger.Warn("a notice of a budget was not delivered", "channel", delivery.ChannelID, "error", err)
	if next, again := delivery.Failed(now, retry); again {
		return &next
	}
	return nil
}
