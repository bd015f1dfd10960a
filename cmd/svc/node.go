package main

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"svc/actors/alerting"
	"svc/actors/apps"
	"svc/actors/assistant"
	"svc/actors/conversations"
	"svc/actors/exports"
	"svc/actors/grain"
	"svc/actors/identity"
	"svc/actors/issues"
	"svc/actors/live"
	"svc/actors/people"
	"svc/actors/pipeline"
	"svc/actors/reports"
	"svc/actors/telemetry"
	"svc/cluster"
	"svc/cmd/svc/adapter"
	"svc/cmd/svc/backup"
	"svc/cmd/svc/health"
	"svc/cmd/svc/integrity"
	"svc/cmd/svc/process"
	"svc/cmd/svc/settings"
	"svc/domain/event"
	"svc/http/admission"
	"svc/http/docs"
	"svc/http/route"
	"svc/http/tally"
	"svc/storage/chdb"
	"svc/storage/clickhouse/database"
	"svc/storage/datadir"
	"svc/storage/geo"
	"svc/storage/kafka"
	"svc/storage/kafka/broker"
	statelog "svc/storage/kafka/state"
	"svc/storage/owned"
	"svc/storage/spool"
	"svc/storage/vault"
)

// Files of the data directory.
const (
	// keyFile is the master key.
	keyFile = backup.KeyFile
	// partsFile lists the parts of the embedded store.
	partsFile = "parts.json"
	// knownFile records the identity of the data.
	knownFile = "known.json"
	// progressFile records the stored offsets of the log.
	progressFile = "progress.json"
)

// node is a complete server: everything that `svc serve` runs, wired.
type node struct {
	config settings.Config
	memory process.Memory
	logger *slog.Logger
	now    func() time.Time
	random grain.Random

	dir       *datadir.Dir
	vault     *vault.Vault
	broker    *broker.Broker
	engine    *chdb.Engine
	db        *database.DB
	places    *geo.DB
	topic     *kafka.Topic
	producer  *kafka.Producer
	consumer  *kafka.Consumer
	retention *kafka.Retention
	spool     *spool.Spool

	registry    *prometheus.Registry
	ownership   *pipeline.Ownership
	collectors  *apps.Collectors
	cardinality *pipeline.Cardinality
	// gate admits requests to the ingest paths.
	gate        *admission.Control
	policies    *telemetry.Policies
	tallies     *tally.Tallies
	shares      *apps.Shares
	erased      *people.Erased
	openExports *exports.Open
	reports     *reports.Known
	deletions   *apps.Deletions
	issues      *issues.Issues
	releases    *issues.Releases
	sinks       *pipeline.Sinks
	outbox      *pipeline.Outbox
	backlog     *health.Backlog
	stream      *pipeline.Stream
	intakes     pipeline.IntakeConfig
	progress    pipeline.Progress
	grains      *grain.Node
	actorKinds  []cluster.Kind
	cluster     *cluster.Cluster
	clustered   clustered
	stateLog    *statelog.Log
	owned       *owned.Store
	claims      *cluster.Claims
	snapshots   *apps.SnapshotSync
	listening   atomic.Pointer[apps.SnapshotSync] // nil until changes can be received
	sweeper     *cluster.Sweeper
	identity    *identity.Identity
	// consoleSeal seals the values that sign-in issues and later accepts.
	consoleSeal *vault.Box
	apps        *apps.Applications
	monitoring  monitoring
	flags       featureFlags
	subscribed  subscriptions
	forwarding  forwarding
	connecting  connecting
	messaging   messaging
	// Snapshots and lists that modules share.
	resolved      *issues.ResolvedSet
	rules         *alerting.RuleIndex
	alerts        *alerting.Alerts
	subscriptions *live.Subscriptions
	updates       *live.Updates
	ai            *conversations.AI
	assistant     *assistant.Assistant

	// more are modules in addition to the product's; moveStep is called between the steps of a move.
	more     []module
	moveStep atomic.Pointer[func(name string) error]
	library  *docs.Library

	handler  *route.Handler
	public   *route.Server
	operator *front
	// publicAddr is known once the listener is bound, operatorAddr from the beginning.
	publicAddr, operatorAddr net.Addr

	inspection  integrity.Inspection
	belongs     *integrity.Identity
	start       health.Start
	unreadable  *health.Unreadable
	disk        *health.Disk
	descriptors uint64 // files that the process may open
	processors  *process.Processors
}

// newNode returns a node that is not open.
func newNode(config settings.Config, logger *slog.Logger) *node {
	registry := prometheus.NewRegistry()
	memory := process.DivideMemory(process.FindMemory("/", config.Memory<<20), config.IngestMemory<<20, config.ClickHouseDSN == "")
	return &node{memory: memory, config: config, logger: logger, now: time.Now, random: process.NewRandom(), registry: registry, unreadable: health.NewUnreadable(registry, logger), processors: process.NewProcessors()}
}

// open opens everything that must exist before anything runs, in the order of dependency. close closes it again, also
// after an error.
func (n *node) open(ctx context.Context) error {
	n.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, step := range []struct {
		doing string
		open  func(ctx context.Context) error
	}{
		{"counting file descriptors", n.countDescriptors},
		{"opening the operator's listener", n.openFront},
		{"opening the data directory", n.openDir},
		{"listening for other nodes", n.openWire},
		{"opening the log", n.openLog},
		{"opening the store", n.openStore},
		{"looking at whose data this is", n.checkIdentity}, // before anything is stored
		{"following what is saved", n.followState},
		{"taking in past days", n.loadPastDays},
		{"opening the places", n.openPlaces},
		{"opening the spool", n.openSpool},
		{"wiring the actors", n.wireActors},
		{"loading the ingest keys and the public pages", n.loadSnapshots},
		{"opening the documentation", func(context.Context) error { return n.openLibrary() }},
		{"wiring the listeners", n.wireHTTP},
	} {
		if err := n.step(ctx, step.doing, step.open); err != nil {
			return err
		}
	}
	n.start.Note("beginning to serve", nil)
	return nil
}

func (n *node) countDescriptors(context.Context) (err error) {
	n.descriptors, err = process.Descriptors(n.config.ClickHouseDSN == "")
	return err
}

// openDir opens the data directory, unless a restore into it is unfinished.
func (n *node) openDir(ctx context.Context) error {
	if err := unfinishedRestore(n.config.DataDir); err != nil {
		return err
	}
	return n.takeDir(ctx)
}

func (n *node) takeDir(context.Context) (err error) {
	if n.dir, err = datadir.Open(n.config.DataDir); err != nil {
		return err
	}
	if n.config.MasterKey.Reveal() == "" {
		if err := integrity.CheckKeyFile(&n.inspection, n.dir.Join(keyFile), n.dir.Join("store")); err != nil {
			return err
		}
	}
	n.vault, err = vault.Open(n.config.MasterKey, n.dir.Join(keyFile))
	return err
}

func (n *node) openPlaces(context.Context) error {
	country, err := geo.FindCountryDB()
	if err != nil {
		return err
	}
	n.places, err = geo.Open(country, n.config.GeoDB)
	return err
}

// maxBlockRows is the size of the open block from which reading the log pauses.
const maxBlockRows = 200_000

// maxBlockBytes is the same for the size of a block's errors.
const maxBlockBytes = 64 << 20

// placeCache is the number of addresses that a partition caches.
const placeCache = 4096

// wireActors creates the actors, and the components that run with them.
func (n *node) wireActors(context.Context) (err error) {
	n.ownership, n.collectors, n.shares = &pipeline.Ownership{Lease: n.consumer}, apps.NewCollectors(), apps.NewShares()
	n.erased, n.openExports, n.reports = people.NewErased(), exports.NewOpen(), reports.NewKnown()
	n.erased.Changed = n.hideErased
	n.deletions = apps.NewDeletions()
	n.rules, n.subscriptions = alerting.NewRuleIndex(), &live.Subscriptions{}
	n.cardinality = pipeline.NewCardinality(n.db, n.now, n.logger)
	n.policies, n.tallies = telemetry.NewPolicies(), n.newTallies()
	n.resolved = &issues.ResolvedSet{Store: n.db, Partitions: n.config.Partitions, Skipped: n.unreadable.Skipped}
	n.snapshots = &apps.SnapshotSync{
		Collectors: n.collectors, Others: each(n.modules(), func(m module) func() []apps.Snapshot { return m.snapshots }), Skipped: n.unreadable.Skipped,
	}
	n.intakes = pipeline.IntakeConfig{
		Locator: func() pipeline.Locator { return adapter.Locator{Cache: geo.NewCache(n.places, placeCache)} },
		Lives:   n.erased, Processors: n.processors, Metrics: pipeline.NewIntakeMetrics(n.registry), Logger: n.logger,
	}
	_, err = cluster.New(n.clustered.join(cluster.Config{
		Kinds: n.wireKinds, Partitions: n.config.Partitions, Placement: n.ownership, Fence: n.fence, Unsettled: n.unsettled,
		Logger: n.logger, Metrics: cluster.NewMetrics(n.registry),
	}))
	if err != nil {
		return err
	}
	n.claims = n.newClaims()
	n.stream = pipeline.NewStream(pipeline.StreamConfig{
		Shape: n.shape(), Ownership: n.ownership, Actors: n.cluster, Sinks: n.sinks, Log: n.consumer,
		History: func(shard int) pipeline.History { return n.db.History(shard) }, Intakes: n.intakes, Evict: n.cluster.Evict, Claims: n.claims, Moves: adapter.Moves{DB: n.db}, Now: n.now, Logger: n.logger,
	})
	n.sweeper = &cluster.Sweeper{Cluster: n.cluster, Store: adapter.Wakeups{Store: n.owned}, Every: time.Second, Logger: n.logger, Now: n.now}
	return nil
}

// wireKinds creates the clients of the actors of a cluster, and then the kinds of the actors.
func (n *node) wireKinds(actors *cluster.Cluster) ([]cluster.Kind, error) {
	n.cluster = actors
	n.identity = &identity.Identity{Actors: actors, Random: n.random, Now: n.now}
	exclusionKey, err := n.vault.Key("exclusions")
	if err != nil {
		return nil, err
	}
	n.apps = &apps.Applications{Actors: actors, Random: n.random, Now: n.now, Sync: n.syncSnapshot, ExclusionKey: exclusionKey, Shard: n.leastShard}
	n.grains = &grain.Node{Store: n.db, Await: n.awaitClaim, Workers: grain.NewWorkers(), Now: n.now, Logger: n.logger}
	n.alerts = &alerting.Alerts{Actors: actors, Random: n.random, Workers: n.grains.Workers}
	n.updates = &live.Updates{Actors: actors, Logger: n.logger}
	n.releases = &issues.Releases{Actors: actors}
	n.issues = &issues.Issues{Actors: actors, Releases: &issues.ReleaseTimes{Store: n.db, Announced: n.releases, Org: n.orgOf}, Log: n.topic, Shape: n.shape()}
	n.outbox = pipeline.NewOutbox(n.db.Notes(), actors.Owns, n.logger)
	n.sinks = pipeline.NewSinks(pipeline.SinkConfig{
		Log: adapter.Committer{Consumer: n.consumer, Stored: n.stored}, Records: n.consumer, Interval: n.config.FlushInterval, Unread: n.unreadInterval(), MaxRows: maxBlockRows, MaxBytes: int(min(maxBlockBytes, n.memory.Block)), MaxRecords: int(n.memory.Block), Now: n.now,
		NewBlockID: n.newBlockID, Metrics: pipeline.NewSinkMetrics(n.registry), Logger: n.logger,
		Outbox:    n.outbox,
		Listeners: each(n.modules(), func(m module) func() []pipeline.Listener { return m.listeners }),
	}, n.shape(), func(shard int) pipeline.BlockStore { return adapter.BlockStore{DB: n.db, Shard: shard} })
	if err := do(n.modules(), func(m module) func() error { return m.wire }); err != nil {
		return nil, err
	}
	n.actorKinds = append(n.kinds(), pipeline.IntakeKind(n.intakes, n.sinks))
	return n.actorKinds, nil
}

// unreadIntervals is the number of flush intervals between two blocks while there are no reads.
const unreadIntervals = 4

// unreadInterval is the time between two blocks while there are no reads. In a cluster it is the flush interval,
// because a node does not know of reads through other nodes.
func (n *node) unreadInterval() time.Duration {
	if n.clustered.wire != nil {
		return n.config.FlushInterval
	}
	return unreadIntervals * n.config.FlushInterval
}

// stored reports committed positions to the gauge of the records' age.
func (n *node) stored(positions []event.LogPosition) {
	n.progress.Stored(positions)
	n.backlog.Stored(positions)
}

// newBlockID returns a number for a block.
func (n *node) newBlockID(now time.Time) uint64 {
	return pipeline.NewBlockNumber(now, binary.LittleEndian.Uint32(n.random.Bytes(4)))
}

// close releases everything that open opened, in reverse order.
func (n *node) close() error {
	var problems []error
	closeOne := func(opened bool, close func() error) {
		if opened {
			problems = append(problems, close())
		}
	}
	closeOne(n.spool != nil, n.closeSpool)
	closeOne(n.places != nil, n.places.Close)
	closeOne(n.owned != nil, n.closeState)
	closeOne(n.db != nil, n.db.Close)
	closeOne(n.engine != nil, n.engine.Close)
	closeOne(n.topic != nil, func() error { n.topic.Close(); return nil })
	closeOne(n.broker != nil, n.broker.Close)
	n.clustered.close()
	closeOne(n.dir != nil, n.dir.Close)
	closeOne(n.operator != nil, n.operator.close)
	return errors.Join(problems...)
}
