package telemetry

import (
	"context"
	"fmt"
	"slices"

	"svc/actors/grain"
	"svc/domain"
	"svc/domain/alert"
	"svc/domain/telemetry"
)

// Channels lists the channels of applications.
type Channels interface {
	Channels(ctx context.Context, ref domain.AppRef) ([]alert.Channel, error)
}

// Telemetry is the client of the telemetry actors.
type Telemetry struct {
	Actors   grain.Caller
	Channels Channels
	// Sync publishes a change on this node before it is answered, if the owner is another node; nil if there are no
	// other nodes.
	Sync func(ctx context.Context, kind, identity string) error
}

func placeOf(ref domain.AppRef, env domain.Environment) place {
	return place{App: ref, Env: env.Slug, Environment: env.Number}
}

// Telemetry returns the policy of an environment with the state of its budgets.
func (t *Telemetry) Telemetry(ctx context.Context, ref domain.AppRef, env domain.Environment) (telemetry.State, error) {
	return telemetryGet.Ask(ctx, t.Actors, identity(ref, env.Slug), getState{Place: placeOf(ref, env)})
}

// UpdateTelemetry replaces the policy of a revision by a valid one, and returns the new state. If stale is true, the
// revision is another one, and the state is the current one. Channels that the policy adds must belong to the
// application. The policy is in force on this node when the call returns, and on the others within a second.
func (t *Telemetry) UpdateTelemetry(ctx context.Context, ref domain.AppRef, env domain.Environment, expected int64, policy telemetry.Policy) (state telemetry.State, stale bool, err error) {
	if err := t.checkChannels(ctx, ref, policy.Alerts.ChannelIDs); err != nil {
		return state, false, err
	}
	answer, err := telemetryUpdate.Ask(ctx, t.Actors, identity(ref, env.Slug), updatePolicy{Place: placeOf(ref, env), Expected: expected, Policy: policy})
	if err != nil {
		return state, false, err
	}
	if t.Sync != nil && !answer.Stale {
		_ = t.Sync(ctx, kindTelemetry, identity(ref, env.Slug)) // a change that does not arrive in time is on its way
	}
	return answer.State, answer.Stale, nil
}

// checkChannels refuses channels that the application does not have.
func (t *Telemetry) checkChannels(ctx context.Context, ref domain.AppRef, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	channels, err := t.Channels.Channels(ctx, ref)
	if err != nil {
		return fmt.Errorf("listing channels: %w", err)
	}
	for n, id := range ids {
		if !slices.ContainsFunc(channels, func(c alert.Channel) bool { return c.ID == id }) {
			return domain.Invalid(domain.FieldError{Field: fmt.Sprintf("policy.alerts.channelIds[%d]", n), Code: "unknown_channel", Message: fmt.Sprintf("The application has no channel %q.", id)})
		}
	}
	return nil
}
