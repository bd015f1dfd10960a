package telemetry

import (
	"svc/actors/grain"
	"svc/domain"
	"svc/domain/telemetry"
)

// Policies is this node's snapshot of the policies of all environments. The ingest path reads it without a lock.
type Policies struct {
	states   grain.Snapshot[uint64, uint64, *telemetry.State] // by the number of the environment
	fallback *telemetry.State
}

// NewPolicies returns an empty snapshot.
func NewPolicies() *Policies {
	return &Policies{fallback: &telemetry.State{Policy: telemetry.DefaultTelemetryPolicy()}}
}

// Telemetry returns the state of an environment, or the default if no policy was chosen.
func (p *Policies) Telemetry(environment uint64) *telemetry.State {
	if found, known := p.states.Find(environment); known {
		return found
	}
	return p.fallback
}

// All returns the states of all environments that have one, in no order.
func (p *Policies) All() (states []*telemetry.State) {
	for _, state := range p.states.All() {
		states = append(states, state)
	}
	return states
}

// Publish replaces the state of an environment, unless a later version is known.
func (p *Policies) Publish(version domain.Version, state *telemetry.State) {
	p.states.Replace(version, state.Environment, map[uint64]*telemetry.State{state.Environment: state})
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
