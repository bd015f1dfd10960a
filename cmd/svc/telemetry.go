package main

import (
	"context"
	"time"

	"svc/actors/apps"
	"svc/actors/grain"
	"svc/actors/telemetry"
	"svc/cluster"
	"svc/cmd/svc/adapter"
	"svc/domain/ingest"
	domaintelemetry "svc/domain/telemetry"
	telemetryapi "svc/http/api/telemetry"
	"svc/http/route"
	"svc/http/tally"
)

// telemetryModule adds usage, budgets and telemetry policies of environments.
func (n *node) telemetryModule() module {
	return module{
		name:      "telemetry",
		snapshots: func() []apps.Snapshot { return []apps.Snapshot{n.policies} },
		kinds:     func(node *grain.Node) []cluster.Kind { return telemetry.Kinds(node, n.policies, n.random.ID) },
		routes: func() ([]route.Route, error) {
			client := &telemetry.Telemetry{Actors: n.cluster, Channels: n.alerts, Sync: n.syncSnapshot}
			return telemetryapi.Routes(telemetryapi.Ports{Policies: client, Usage: n.db, Cardinality: n.db, Lag: n.backlog.Age, Fairness: n.fairness, ErrorsPerMinute: n.config.ErrorLimit}), nil
		},
		parts: func() []part {
			return []part{{"budgets", "It asks telemetry and alerting actors, so it stops before them.", n.watchBudgets}}
		},
		below: func() []part {
			return []part{{"tallies", "Requests count what they refuse until they have ended; the last counts go to the producer.", n.tallies.Run}}
		},
	}
}

// fairness returns the limits of an application, and the senders of an environment that reached them.
func (n *node) fairness(app string, environment uint64, now time.Time) domaintelemetry.Fairness {
	return n.gate.Fairness(app, environment, now)
}

// newTallies returns the counts of items that this run of the node refuses.
func (n *node) newTallies() *tally.Tallies {
	return tally.New(tally.Config{
		Source: n.random.ID("run_"), Log: adapter.Producer{Producer: n.producer, Disk: n.disk}, Shape: n.shape(), Now: n.now, Logger: n.logger,
	})
}

// sampled returns the share of visitors with stored events in an environment, or nil if it stores all events.
func (n *node) sampled(environment uint64, now time.Time) *domaintelemetry.Sampled {
	return n.policies.Telemetry(environment).Sampling(ingest.SignalEvents, now)
}

// watchBudgets compares the stored amounts of environments with their budgets, and detects signals that stop. Only the
// owner of partition 0 does it.
func (n *node) watchBudgets(ctx context.Context) error {
	watch := &telemetry.Watch{
		Policies: n.policies, Usage: n.db, Actors: n.cluster, Channels: n.alerts, Sender: n.monitoring.ports.Sender,
		Owns: func() bool { _, owned := n.ownership.Owned(0); return owned }, Lag: n.backlog.Age, Now: n.now, Logger: n.logger,
	}
	return watch.Run(ctx)
}
