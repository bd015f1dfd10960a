package actors

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"svc"
	"svc/actors/enrich"
	"svc/cluster"
)

// Deps is what the actors of a node need.
type Deps struct {
	Store Entities
	// Ledger stores the entries of ledgers and loads the last one of each.
	Ledger     Entities
	Collectors *Collectors
	Shares     *Shares
	Changes    *Changes
	Sink       *Sink
	Visits     Visits
	Watchers   *Watchers
	Watch      *Watch
	Locator    func() Locator
	// Processors are taken by intakes while they fold; nil where there are always enough.
	Processors Processors
	Limits     Limits
	Monitors   *MonitorPorts
	Alerts     *AlertPorts
	// Whole says whether this node owns every partition; nil means that it does.
	Whole  func() bool
	Now    func() time.Time
	Intake *IntakeMetrics
	Logger *slog.Logger
	// Enter keeps an entry of a ledger that no caller asked for; nil keeps none.
	Enter func(ctx context.Context, entry svc.LedgerEntry) error

	// reach is shared by the actors of Store.
	reach *reach
}

// liveIdle is how long a live window is kept after the last question.
const liveIdle = 2 * time.Minute

// The ranks of the kinds that call another.
const (
	monitorRank      = 2
	conversationRank = 3
)

// Kinds is the table of actor kinds.
func Kinds(deps Deps) []cluster.Kind {
	deps.reach = &reach{}
	return []cluster.Kind{
		deps.persistent(kindOrganization, 2, 10*time.Minute, func(string) core { return &organization{} }),
		deps.persistent(kindUser, 2, 10*time.Minute, func(string) core { return &user{} }),
		deps.persistent(kindToken, 3, 5*time.Minute, func(identity string) core { return &token{identity: identity, limits: deps.Limits} }),
		deps.persistent(kindReplay, 3, 5*time.Minute, func(identity string) core { return &replay{identity: identity} }),
		deps.storedIn(deps.Ledger, kindLedger, 2, 5*time.Minute, func(identity string) core { return &ledger{org: identity} }),
		deps.persistent(kindConversation, conversationRank, 2*time.Minute, deps.newConversation),
		deps.persistent(kindDesk, 2, 5*time.Minute, func(string) core { return &desk{} }),
		deps.persistent(kindApprovals, 2, 5*time.Minute, func(string) core { return &approvals{} }),
		deps.persistent(kindReleases, 2, 5*time.Minute, func(string) core { return &releases{} }),
		deps.persistent(kindAI, 2, aiIdle, func(string) core { return &aiSettings{} }),
		deps.announced(deps.persistent(kindApplication, 1, 10*time.Minute, func(string) core {
			return &application{publish: deps.Collectors.Publish, publishPage: deps.Shares.Publish}
		})),
		{Name: KindAlerting, Rank: 1, Idle: monitorIdle, New: deps.newAlerting},
		{Name: kindMonitor, Rank: monitorRank, Idle: monitorIdle, New: deps.newMonitor},
		deps.issues(),
		{
			Name: kindLive, Rank: 1, Idle: liveIdle,
			New: func(identity string) actor.Actor {
				environment, _ := strconv.ParseUint(identity, 10, 64) // a strange identity watches environment 0, which has no events
				return &live{
					environment: environment, visits: deps.Visits, watchers: deps.Watchers, now: deps.Now, idle: liveIdle, logger: deps.Logger, whole: deps.Whole,
				}
			},
		},
		{
			Name: kindIntake, Rank: 1, Stays: true, Partition: intakePartition,
			New: func(identity string) actor.Actor {
				return deps.NewIntake(intakePartition(identity, 1<<31-1), deps.Sink)
			},
		},
	}
}

// issueIdle is how long an issue's actor is kept: most are asked once.
const issueIdle = 30 * time.Second

// issues returns the row of the issue actors.
func (d Deps) issues() cluster.Kind {
	kind := d.persistent(kindIssue, 1, issueIdle, func(identity string) core {
		return &issue{number: issueOfIdentity(identity), watch: d.Watch}
	})
	kind.Partition = issuePartition
	return kind
}

// NewIntake makes the intake of a partition, which hands its rows to a block.
func (d Deps) NewIntake(partition int, to blocks) *intake {
	return &intake{
		partition: partition, agents: enrich.NewUserAgents(userAgentCache), locator: d.Locator(), processors: d.Processors, blocks: to,
		metrics: d.Intake, logger: d.Logger,
	}
}

// announced has a kind's changes announced to every node.
func (d Deps) announced(kind cluster.Kind) cluster.Kind {
	make := kind.New
	kind.New = func(identity string) actor.Actor {
		a := make(identity)
		if g, ok := a.(*grain); ok && d.Changes != nil {
			g.announce = d.Changes.announce
		}
		return a
	}
	return kind
}

// persistent returns the row of a kind that shares the shell of grain.go.
func (d Deps) persistent(name string, rank int, idle time.Duration, newCore func(identity string) core) cluster.Kind {
	return d.storedIn(d.Store, name, rank, idle, newCore)
}

// reachOf is what is known of a store.
func (d Deps) reachOf(store Entities) *reach {
	if store != d.Store {
		return nil
	}
	return d.reach
}

// storedIn is persistent with a store of the kind's own.
func (d Deps) storedIn(store Entities, name string, rank int, idle time.Duration, newCore func(identity string) core) cluster.Kind {
	return cluster.Kind{Name: name, Rank: rank, Idle: idle, New: func(identity string) actor.Actor {
		return &grain{
			kind: name, identity: identity, core: newCore(identity), store: store, reach: d.reachOf(store),
			logger: d.Logger, now: d.Now, idle: idle,
		}
	}}
}
