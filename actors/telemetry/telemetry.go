package telemetry

import (
	"encoding/json"
	"errors"
	"time"

	"svc/actors/grain"
	"svc/cluster"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/ingest"
	"svc/domain/telemetry"
)

// The telemetry actor.
//
//	identity   org/app/env: the slugs of an environment
//	rank       1
//	owns       the environment's telemetry policy, the state of its budgets, the latest alerts, and the
//	           notices that were not delivered yet
//	persists   entity telemetry
//	woken by   calls: of members, and of the budget watch of the owner of partition 0
//	limits     telemetry.MaxBudgetAlerts alerts
//	stops      after five minutes without a message
const kindTelemetry = "telemetry"

// idle is how long an actor stays activated without a message.
const idle = 5 * time.Minute

type telemetryActor struct {
	state telemetry.State
	// publish publishes a change on this node before it is answered.
	publish func(domain.Version, *telemetry.State)
	newID   func(prefix string) string
}

// place names the environment of an actor; the first message makes the state with it.
type place struct {
	App         domain.AppRef `json:"app"`
	Env         string        `json:"env"`
	Environment uint64        `json:"environment"`
}

type (
	getState struct {
		Place place `json:"place"`
	}
	updatePolicy struct {
		Place    place            `json:"place"`
		Expected int64            `json:"expected"`
		Policy   telemetry.Policy `json:"policy"`
	}
	evaluateBudgets struct {
		Use telemetry.BudgetUse `json:"use"`
		// Pulses are the arrival times of items. Heard is the time since which the asking node has seen arrivals. Both
		// are missing if no signal is watched.
		Pulses map[ingest.Signal]telemetry.SignalPulse `json:"pulses,omitempty"`
		Heard  time.Time                               `json:"heard"`
	}
	noteDeliveries struct {
		Ends map[string]*alert.Delivery `json:"ends"`
	}
	// updated holds the state after an update, or the current one if the revision was another.
	updated struct {
		State telemetry.State `json:"state"`
		Stale bool            `json:"stale"`
	}
)

var telemetryKind = grain.NewKind[*telemetryActor](kindTelemetry, 1, idle)

// The methods of the telemetry actor.
var (
	telemetryGet       = grain.On(telemetryKind, "get", (*telemetryActor).onGet, grain.Repeatable)
	telemetryUpdate    = grain.On(telemetryKind, "update", (*telemetryActor).onUpdate)
	telemetryEvaluate  = grain.On(telemetryKind, "evaluate", (*telemetryActor).onEvaluate, grain.Repeatable)
	telemetryDelivered = grain.On(telemetryKind, "delivered", (*telemetryActor).onDelivered, grain.Repeatable)
)

// Kinds returns the kinds of this package for the actors of a node. They publish their changes to the node's policies.
func Kinds(node *grain.Node, policies *Policies, newID func(prefix string) string) []cluster.Kind {
	return []cluster.Kind{telemetryKind.Row(node, func(string) *telemetryActor { return &telemetryActor{publish: policies.Publish, newID: newID} })}
}

func identity(ref domain.AppRef, env string) string { return ref.String() + "/" + env }

// Restore reads the state. Fields that a later version of the program added have their defaults.
func (t *telemetryActor) Restore(entities []domain.Entity) error {
	t.state = telemetry.State{}
	for _, entity := range entities {
		if entity.Kind != kindTelemetry {
			continue
		}
		state, err := decode(entity)
		if err != nil {
			return err
		}
		t.state = *state
	}
	return nil
}

// errEmpty is the error of an entity without content.
var errEmpty = errors.New("the entity is empty")

// decode decodes a state into the default policy, so that missing members have their defaults.
func decode(entity domain.Entity) (*telemetry.State, error) {
	state := telemetry.State{Policy: telemetry.DefaultTelemetryPolicy()}
	if len(entity.Payload) == 0 {
		return nil, errEmpty
	}
	if err := json.Unmarshal(entity.Payload, &state); err != nil {
		return nil, err
	}
	return &state, nil
}

// settle makes the state of an environment that has none.
func (t *telemetryActor) settle(at place) {
	if t.state.Environment == 0 {
		t.state = telemetry.State{App: at.App, Env: at.Env, Environment: at.Environment, Policy: telemetry.DefaultTelemetryPolicy()}
	}
}

// changed returns the outcome of a change, which is published on this node before it is answered.
func changed[R any](t *telemetryActor, answer R) grain.Outcome[R] {
	state := t.state
	return grain.Outcome[R]{Answer: answer, Effects: grain.Effects{
		Writes: []grain.Write{grain.Put(kindTelemetry, kindTelemetry, state)},
		After:  func(version domain.Version) { t.publish(version, &state) },
	}}
}

func (t *telemetryActor) onGet(_ time.Time, m getState) (grain.Outcome[telemetry.State], error) {
	t.settle(m.Place)
	return grain.Answer(t.state), nil
}

func (t *telemetryActor) onUpdate(now time.Time, m updatePolicy) (grain.Outcome[updated], error) {
	t.settle(m.Place)
	if m.Expected != t.state.Revision {
		return grain.Answer(updated{State: t.state, Stale: true}), nil
	}
	t.state.Update(m.Policy, now)
	return changed(t, updated{State: t.state}), nil
}

// decide compares the use of a month with the budgets, and the arrivals with the usual pauses. It reports whether the
// state changed.
func (m *evaluateBudgets) decide(state *telemetry.State, now time.Time, newID func(prefix string) string) bool {
	spent := state.Evaluate(m.Use, now, newID)
	silent := !m.Heard.IsZero() && state.Listen(m.Pulses, m.Heard, now, newID)
	return spent || silent
}

// onEvaluate decides which channels are notified, and stores the notices.
func (t *telemetryActor) onEvaluate(now time.Time, m evaluateBudgets) (grain.Outcome[telemetry.State], error) {
	if t.state.Environment == 0 || !m.decide(&t.state, now, t.newID) {
		return grain.Answer(t.state), nil
	}
	return changed(t, t.state), nil
}

// onDelivered records the delivered notices, and the notices that are to be tried again.
func (t *telemetryActor) onDelivered(_ time.Time, m noteDeliveries) (grain.Outcome[grain.None], error) {
	t.state.Delivered(m.Ends)
	return changed(t, grain.None{}), nil
}
