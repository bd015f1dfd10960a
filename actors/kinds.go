package actors

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc/actors/apps"
	"svc/actors/grain"
	"svc/cluster"
)

// Deps is what the actors of a node need.
type Deps struct {
	Store    grain.Entities
	Changes  *apps.Changes
	Visits   Visits
	Watchers *Watchers
	Watch    *Watch
	Monitors *MonitorPorts
	Alerts   *AlertPorts
	// Whole reports whether this node owns every partition; nil means that it does.
	Whole  func() bool
	Now    func() time.Time
	Logger *slog.Logger
	// Workers runs what actors do beside their mailboxes.
	Workers *grain.Workers

	node, monitors, alerting *grain.Node
}

// liveIdle is how long a live window is kept after the last question.
const liveIdle = 2 * time.Minute

// AlertingKinds returns the kinds of monitors and of the rules over them.
func AlertingKinds(deps Deps) []cluster.Kind {
	deps = deps.wired()
	return []cluster.Kind{
		{Name: KindAlerting, Rank: alertingKind.Rank(), Idle: alertingKind.Idle(), New: deps.newAlerting},
		{Name: kindMonitor, Rank: monitorKind.Rank(), Idle: monitorKind.Idle(), New: deps.newMonitor},
	}
}

// IssueKinds returns the kinds of issues and of releases.
func IssueKinds(deps Deps) []cluster.Kind {
	deps = deps.wired()
	return []cluster.Kind{
		deps.issues(),
		releasesKind.Row(deps.node, func(string) *releases { return &releases{} }),
	}
}

// LiveKinds returns the kind of live views.
func LiveKinds(deps Deps) []cluster.Kind {
	return []cluster.Kind{{
		Name: kindLive, Rank: 1, Idle: liveIdle,
		New: func(identity string) actor.Actor {
			environment, _ := strconv.ParseUint(identity, 10, 64) // a strange identity watches environment 0, which has no events
			return &live{
				environment: environment, visits: deps.Visits, watchers: deps.Watchers, now: deps.Now, idle: liveIdle, logger: deps.Logger, whole: deps.Whole,
			}
		},
	}}
}

// issueIdle is how long an issue's actor is kept: most are asked once.
const issueIdle = 30 * time.Second

// wired returns the dependencies with what the grains of the node share.
func (d Deps) wired() Deps {
	if d.Workers == nil {
		d.Workers = grain.NewWorkers()
	}
	d.node = &grain.Node{Store: d.Store, Workers: d.Workers, Now: d.Now, Logger: d.Logger}
	if d.Changes != nil {
		d.node.Announce = d.Changes.Announce
	}
	if d.Monitors != nil {
		d.monitors = d.node.With(monitorStore{d.Store, d.Monitors.States, d.Monitors.Found, d.Now})
	}
	if d.Alerts != nil {
		d.alerting = d.node.With(d.Alerts.Store)
	}
	return d
}

// issues returns the row of the issue actors.
func (d Deps) issues() cluster.Kind {
	kind := issueKind.Row(d.node, func(identity string) *issue {
		return &issue{number: issueOfIdentity(identity), watch: d.Watch}
	})
	kind.Partition = issuePartition
	return kind
}
