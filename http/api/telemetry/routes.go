// Package telemetry contains the routes that show the received items, the dropped items with the reasons, and the
// ingest policy of an environment.
package telemetry

import (
	"context"
	"time"

	"svc/domain"
	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/http/route"
)

// Policies stores the telemetry policies.
type Policies interface {
	// Telemetry returns the policy of an environment with the state of its budgets.
	Telemetry(ctx context.Context, ref domain.AppRef, env domain.Environment) (telemetry.State, error)
	// UpdateTelemetry replaces the policy of a revision by a valid policy. stale is true if the present revision is
	// another one; state is the present state then.
	UpdateTelemetry(ctx context.Context, ref domain.AppRef, env domain.Environment, expected int64, policy telemetry.Policy) (state telemetry.State, stale bool, err error)
}

// Usage reads the outcomes of items.
type Usage interface {
	// Usage returns the counts of an environment from a UTC day on.
	Usage(ctx context.Context, environment uint64, since time.Time) ([]ingest.UsageCount, error)
}

// Cardinality reads the metrics and properties with the highest cardinality in an environment.
type Cardinality interface {
	// MetricCardinality returns the metrics with most series and the labels that make them.
	MetricCardinality(ctx context.Context, q telemetry.CardinalityQuery) (telemetry.MetricCardinality, error)
	// PropertyCardinality returns the properties with most values among the newest events.
	PropertyCardinality(ctx context.Context, q telemetry.CardinalityQuery) (telemetry.PropertyCardinality, error)
}

// Ports are the dependencies of the handlers. A port may be nil only if the rows are listed and never served.
type Ports struct {
	Policies Policies
	Usage    Usage
	// Cardinality reads the stored series and events.
	Cardinality Cardinality
	// Fairness returns the bounds of an application on this node, and the senders of an environment that reached a
	// bound. ErrorsPerMinute bounds each key's errors on Sentry's paths, 0 for no bound.
	Fairness        func(app string, environment uint64, now time.Time) telemetry.Fairness
	ErrorsPerMinute int
	// Lag returns the age of the oldest accepted item that is not stored.
	Lag func() time.Duration
}

// handlers serves the routes of telemetry.
type handlers struct{ Ports }

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	t := handlers{ports}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/telemetry", Operation: "telemetry.get", Scope: domain.ScopeRead, Permission: domain.PermAppsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "What came in over 30 days, what was dropped and why, and the policy", Handler: route.Typed(t.get),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/telemetry/cardinality", Operation: "telemetry.cardinality", Scope: domain.ScopeRead, Permission: domain.PermAppsRead, Effect: route.Read, Rate: domain.RateDefault,
			Summary: "The metrics with most series and the event properties with most values", Handler: route.Typed(t.cardinality),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/telemetry", Operation: "telemetry.update", Scope: domain.ScopeWrite, Permission: domain.PermAppsWrite, Effect: route.Destructive, Ledger: "telemetry.updated", Rate: domain.RateDefault,
			Summary: "Change the telemetry policy of an environment", Handler: route.Typed(t.update),
		},
	}
}
