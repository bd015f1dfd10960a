// Package telemetry has the routes that say what came in, what was dropped and why, and what an environment
// takes in.
package telemetry

import (
	"context"
	"time"

	"svc"
	"svc/http/route"
)

// Policies keeps the telemetry policies.
type Policies interface {
	// Telemetry returns the policy of an environment with the state of its budgets.
	Telemetry(ctx context.Context, ref svc.AppRef, env svc.Environment) (svc.TelemetryState, error)
	// UpdateTelemetry puts a valid policy in place of that of a revision. stale says that the revision is
	// another one; the state is the present one then.
	UpdateTelemetry(ctx context.Context, ref svc.AppRef, env svc.Environment, expected int64, policy svc.TelemetryPolicy) (state svc.TelemetryState, stale bool, err error)
}

// Usage reads what became of items.
type Usage interface {
	// Usage returns the counts of an environment from a UTC day on.
	Usage(ctx context.Context, environment uint64, since time.Time) ([]svc.UsageCount, error)
}

// Cardinality reads what is widest in an environment.
type Cardinality interface {
	// MetricCardinality returns the metrics with most series and the labels that make them.
	MetricCardinality(ctx context.Context, q svc.CardinalityQuery) (svc.MetricCardinality, error)
	// PropertyCardinality returns the properties with most values among the newest events.
	PropertyCardinality(ctx context.Context, q svc.CardinalityQuery) (svc.PropertyCardinality, error)
}

// Ports are what the handlers call. A port may be nil only where the rows are
// listed and never served.
type Ports struct {
	Policies Policies
	Usage    Usage
	// Cardinality reads the stored series and events.
	Cardinality Cardinality
	// Fairness says what bounds an application on this node, and who of an environment met the bound; ErrorsPerMinute is the bound
	// of each key's errors on Sentry's paths, 0 for none.
	Fairness        func(app string, environment uint64, now time.Time) svc.Fairness
	ErrorsPerMinute int
	// Lag returns the age of the oldest accepted item that is not stored.
	Lag func() time.Duration
}

// telemetry answers the routes of telemetry.
type telemetry struct{ Ports }

// Routes returns the rows of the package.
func Routes(ports Ports) []route.Route {
	t := telemetry{ports}
	return []route.Route{
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/telemetry", Operation: "telemetry.get", Scope: svc.ScopeRead, Permission: svc.PermAppsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "What came in over 30 days, what was dropped and why, and the policy", Handler: route.Typed(t.get),
		},
		{
			Surface: route.Manage, Method: "GET", Path: "/apps/{org}/{app}/telemetry/cardinality", Operation: "telemetry.cardinality", Scope: svc.ScopeRead, Permission: svc.PermAppsRead, Effect: route.Read, Rate: svc.RateDefault,
			Summary: "The metrics with most series and the event properties with most values", Handler: route.Typed(t.cardinality),
		},
		{
			Surface: route.Manage, Method: "POST", Path: "/apps/{org}/{app}/telemetry", Operation: "telemetry.update", Scope: svc.ScopeWrite, Permission: svc.PermAppsWrite, Effect: route.Destructive, Ledger: "telemetry.updated", Rate: svc.RateDefault,
			Summary: "Change the telemetry policy of an environment", Handler: route.Typed(t.update),
		},
	}
}
