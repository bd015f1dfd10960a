package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/ingest"
	"svc/domain/telemetry"
)

// MonthUsage reads the stored and the arrived items of environments.
type MonthUsage interface {
	// StoredSince counts the items that some environments stored since a UTC day.
	StoredSince(ctx context.Context, environments []uint64, since time.Time) (map[uint64]map[ingest.Signal]int64, error)
	// Pulses returns the arrival times of items of some environments since a UTC day.
	Pulses(ctx context.Context, environments []uint64, since time.Time) (map[uint64]map[ingest.Signal]telemetry.SignalPulse, error)
}

// Sender sends a notice to a channel; retry reports whether another attempt may succeed.
type Sender interface {
	Send(ctx context.Context, channel alert.Channel, delivery alert.Delivery) (retry bool, err error)
}

const (
	// watchEvery is the pause between two evaluations of budgets; watchTime bounds one evaluation.
	watchEvery = 5 * time.Second
	watchTime  = 30 * time.Second
	// listenEvery is the pause between two searches for signals that have stopped.
	listenEvery = 30 * time.Second
	// deaf bounds the age of the oldest accepted item that is not stored. Beyond it, arrivals cannot be judged.
	deaf = 10 * time.Second
)

// Watch compares the stored items of environments with their budgets, and the arrivals of their signals with the usual
// pauses, and delivers the notices. One node does this, the owner of partition 0. The actor of an environment decides,
// and stores every notice until its delivery is recorded, so a node that dies leaves the notices to its successor. A
// receiver recognizes a repeated notice by its id.
type Watch struct {
	Policies *Policies
	Usage    MonthUsage
	Actors   grain.Caller
	Channels Channels
	Sender   Sender
	Owns     func() bool
	// Lag returns the age of the oldest accepted item that is not stored.
	Lag    func() time.Duration
	Now    func() time.Time
	Logger *slog.Logger

	// heard is the time since which arrivals were seen without interruption, zero while they are not seen. listened is
	// the time of the last query for arrivals.
	heard, listened time.Time
}

// Run evaluates until ctx ends.
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
			w.heard = time.Time{}
			continue
		}
		look, cancel := context.WithTimeout(ctx, watchTime)
		if err := w.look(look); err != nil && ctx.Err() == nil {
			w.Logger.Warn("budgets and arrivals could not be looked at", "error", err)
		}
		cancel()
	}
}

// look evaluates all budgets once, and attempts the deliveries that are due.
func (w *Watch) look(ctx context.Context) error {
	now := w.Now().UTC()
	var states []*telemetry.State
	var environments, watched []uint64
	for _, state := range w.Policies.All() {
		hasBudget := slices.ContainsFunc(ingest.Signals(), func(s ingest.Signal) bool { return state.Policy.Budget(s) != nil })
		listens := state.Policy.Alerts.SilentSignals || len(state.Silent) > 0
		if hasBudget || listens || len(state.Over)+len(state.Deliveries) > 0 {
			states, environments = append(states, state), append(environments, state.Environment)
		}
		if listens {
			watched = append(watched, state.Environment)
		}
	}
	pulses, err := w.listen(ctx, watched, now)
	if err != nil || len(states) == 0 {
		return err
	}
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	used, err := w.Usage.StoredSince(ctx, environments, month)
	if err != nil {
		return err
	}
	for _, state := range states {
		ask := evaluateBudgets{Use: telemetry.BudgetUse{Month: domain.MonthOf(now), Items: used[state.Environment]}}
		if pulses != nil {
			ask.Pulses, ask.Heard = pulses[state.Environment], w.heard
		}
		if err := w.evaluate(ctx, state, ask, now); err != nil {
			return err
		}
	}
	return nil
}

// listen returns the arrival times of items of some environments. It returns nil before the next search is due, or if
// the latest arrivals are not stored yet.
func (w *Watch) listen(ctx context.Context, environments []uint64, now time.Time) (map[uint64]map[ingest.Signal]telemetry.SignalPulse, error) {
	if w.Lag() > deaf {
		w.heard = time.Time{}
		return nil, nil
	}
	if w.heard.IsZero() {
		w.heard = now
	}
	if len(environments) == 0 || now.Sub(w.listened) < listenEvery {
		return nil, nil
	}
	pulses, err := w.Usage.Pulses(ctx, environments, now.AddDate(0, 0, -telemetry.SilenceDays))
	if err != nil {
		w.heard = time.Time{}
		return nil, err
	}
	w.listened = now
	return pulses, nil
}

// evaluate asks the actor of an environment if its state would change, and delivers the notices that are due.
func (w *Watch) evaluate(ctx context.Context, known *telemetry.State, ask evaluateBudgets, now time.Time) error {
	state := *known
	trial := *known
	if ask.decide(&trial, now, func(string) string { return "" }) {
		var err error
		if state, err = telemetryEvaluate.Ask(ctx, w.Actors, identity(known.App, known.Env), ask); err != nil {
			return err
		}
	}
	due := slices.DeleteFunc(slices.Clone(state.Deliveries), func(d alert.Delivery) bool { return d.Next.After(now) })
	if len(due) == 0 {
		return nil
	}
	channels, err := w.Channels.Channels(ctx, state.App)
	if err != nil {
		return err
	}
	ends := map[string]*alert.Delivery{}
	for _, delivery := range due {
		ends[delivery.ID] = w.deliver(ctx, channels, delivery, now)
	}
	_, err = telemetryDelivered.Ask(ctx, w.Actors, identity(state.App, state.Env), noteDeliveries{ends})
	return err
}

// deliver attempts one delivery; it returns nil if there is no further attempt.
func (w *Watch) deliver(ctx context.Context, channels []alert.Channel, delivery alert.Delivery, now time.Time) *alert.Delivery {
	at := slices.IndexFunc(channels, func(c alert.Channel) bool { return c.ID == delivery.ChannelID })
	if at < 0 {
		return nil // the channel was deleted
	}
	retry, err := w.Sender.Send(ctx, channels[at], delivery)
	if err == nil {
		return nil
	}
	w.Logger.Warn("a notice of telemetry was not delivered", "channel", delivery.ChannelID, "error", err)
	if next, again := delivery.Failed(now, retry); again {
		return &next
	}
	return nil
}
