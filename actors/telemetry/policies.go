package telemetry

import (
	"sync"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/telemetry"
)

// Policies is this node's snapshot of the policies of all environments. The ingest path reads it without a lock, and
// its entries are replaced when they change.
type Policies struct {
	byEnvironment sync.Map // the number of an environment → *telemetry.State
	fallback      *telemetry.State

	mu       sync.Mutex
	versions map[uint64]domain.Version
}

// NewPolicies returns an empty snapshot.
func NewPolicies() *Policies {
	return &Policies{
		fallback: &telemetry.State{Policy: telemetry.DefaultTelemetryPolicy()}, versions: map[uint64]domain.Version{},
	}
}

// Telemetry returns the state of an environment, or the default if no policy was chosen.
func (p *Policies) Telemetry(environment uint64) *telemetry.State {
	if found, known := p.byEnvironment.Load(environment); known {
		return found.(*telemetry.State)
	}
	return p.fallback
}

// All returns the states of all environments that have one, in no order.
func (p *Policies) All() (states []*telemetry.State) {
	p.byEnvironment.Range(func(_, state any) bool {
		states = append(states, state.(*telemetry.State))
		return true
	})
	return states
}

// Publish replaces the state of an environment, unless a later version is known.
func (p *Policies) Publish(version domain.Version, state *telemetry.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if version.Number() < p.versions[state.Environment].Number() {
		return
	}
	p.versions[state.Environment] = version
	p.byEnvironment.Store(state.Environment, state)
}

// EntityKinds returns the kinds of the entities in the snapshot.
func (p *Policies) EntityKinds() []string { return []string{kindTelemetry} }

// PublishEntities publishes the state of an environment. If it cannot be decoded, the last one stays in force.
func (p *Policies) PublishEntities(entities []domain.Entity, skipped grain.Skipped) {
	for _, entity := range entities {
		if entity.Kind != kindTelemetry || entity.Deleted {
			continue
		}
		state, err := decode(entity)
		if err != nil {
			skipped(entity, err)
			continue
		}
		p.Publish(entity.Version, state)
	}
}
