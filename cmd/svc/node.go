package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"svc"
	"svc/actors/alerting"
	"svc/actors/apps"
	"svc/actors/assistant"
	"svc/actors/conversations"
	"svc/actors/grain"
	"svc/actors/identity"
	"svc/actors/issues"
	"svc/actors/live"
	"svc/actors/pipeline"
	"svc/cluster"
	"svc/cmd/svc/backup"
	"svc/cmd/svc/integrity"
	"svc/cmd/svc/settings"
	"svc/http/docs"
	"svc/http/route"
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

// apiRevision is the date of the API's last addition (X-API-Revision).
const apiRevision = "2026-11-20"

// Files of the data directory.
const (
	// keyFile is the master key.
	keyFile = backup.KeyFile
	// partsFile notes the parts of the embedded store.
	partsFile = "parts.json"
	// progressFile notes how far the log was stored.
	progressFile = "progress.json"
)

// Names on the log.
const (
	ingestTopic = "ingest"
	stateTopic  = "state"
	intakeGroup = "intake"
)

// retentionEvery is how often the log is trimmed: seldom enough to cost nothing,
// often enough that a full load adds about half a gigabyte in between.
const retentionEvery = 10 * time.Second

// node is a whole server: everything that `svc serve` runs, wired.
type node struct {
	config settings.Config
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
	shares      *apps.Shares
	issues      *issues.Issues
	releases    *issues.Releases
	sink        *pipeline.Sink
	outbox      *pipeline.Outbox
	backlog     backlog
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
	listening   atomic.Pointer[apps.SnapshotSync] // nil until changes can be taken
	sweeper     *cluster.Sweeper
	identity    *identity.Identity
	// consoleSeal closes what sign-in hands out and wants back.
	consoleSeal *vault.Box
	apps        *apps.Applications
	monitoring  monitoring
	// Snapshots and lists that modules share.
	resolved      *issues.ResolvedSet
	rules         *alerting.RuleIndex
	alerts        *alerting.Alerts
	subscriptions *live.Subscriptions
	updates       *live.Updates
	ai            *conversations.AI
	tools         *routeTools
	agentTools    *routeTools
	assistant     *assistant.Assistant

	// more are modules beside those of the product.
	more    []module
	library *docs.Library

	table    []route.Route
	handler  http.Handler
	public   *route.Server
	operator *front
	// publicAddr is known once the listener is bound, operatorAddr from the beginning on.
	publicAddr, operatorAddr net.Addr

	inspection  integrity.Inspection
	start       start
	unreadable  *unreadable
	space       *space
	descriptors uint64 // files that the process may open
	processors  processors
}

// newNode returns a node that has opened nothing yet.
func newNode(config settings.Config, logger *slog.Logger) *node {
	registry := prometheus.NewRegistry()
	return &node{config: config, logger: logger, now: time.Now, random: newRandom(), registry: registry, unreadable: newUnreadable(registry, logger), processors: newProcessors()}
}

// open opens everything that must be there before anything runs, in the order
// in which each needs the one before. What was opened is closed by close, also
// after an error.
func (n *node) open(ctx context.Context) error {
	n.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, step := range []struct {
		doing string
		open  func(ctx context.Context) error
	}{
		{"counting file descriptors", n.checkDescriptors},
		{"opening the operator's listener", n.openFront},
		{"opening the data directory", n.openDir},
		{"listening for other nodes", n.openWire},
		{"opening the log", n.openLog},
		{"opening the store", n.openStore},
		{"following what is saved", n.followState},
		{"looking at whose data this is", n.checkIdentity},
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
	n.start.note("beginning to serve", nil)
	return nil
}

func (n *node) openDir(context.Context) (err error) {
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

func (n *node) openLog(ctx context.Context) (err error) {
	brokers := n.config.KafkaBrokers
	var dial kafka.DialFunc
	if len(brokers) == 0 {
		n.broker, err = n.openBroker(broker.Config{ //nolint:contextcheck // the broker outlives the context of its opening
			Dir: n.dir.Join("log"), Addr: n.config.KafkaListen, Sync: n.config.LogSync == settings.SyncAlways, Topics: []string{ingestTopic, stateTopic}, Partitions: n.config.Partitions, Logger: n.logger,
		})
		if err != nil {
			return err
		}
		brokers, dial = n.broker.Addrs(), n.broker.Dial
	}
	n.topic, err = kafka.NewTopic(kafka.TopicConfig{Brokers: brokers, Topic: ingestTopic, Partitions: n.config.Partitions})
	if err != nil {
		return err
	}
	if err := n.topic.Ensure(ctx); err != nil {
		return err
	}
	if n.broker == nil {
		warnOfForgottenPositions(ctx, n.topic, n.logger)
	}
	n.producer, err = kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers, Topic: ingestTopic, Partitions: n.config.Partitions, Timeout: produceTime, Dial: dial, Logger: n.logger})
	if err != nil {
		return err
	}
	n.consumer, err = kafka.NewConsumer(kafka.ConsumerConfig{
		Brokers: brokers, Topic: ingestTopic, Group: intakeGroup, UserData: []byte(n.nodeAddr()), Secret: n.config.ClusterSecret.Reveal(),
		Dial: dial, Private: n.broker != nil && n.config.KafkaListen == "" && n.config.NodeAddr == "",
		Handler: streamHandler{n}, Logger: n.logger,
		Gather: min(n.config.FlushInterval/gatherShare, gatherMost),
		Gap: func(partition int, from, to int64) {
			n.logger.Error("the log lost records that were not stored", "partition", partition, "from", from, "to", to)
		},
	})
	if err != nil {
		return err
	}
	n.retention = &kafka.Retention{
		Topic: n.topic, Consumer: n.consumer, Partitions: n.config.Partitions, Keep: n.config.LogRetention,
		Owned: func(partition int) bool { _, owned := n.ownership.Owned(partition); return owned },
		Every: retentionEvery, Now: n.now, Logger: n.logger,
	}
	if n.broker != nil {
		share := n.config.LogKeep << 20 / int64(n.config.Partitions)
		n.retention.Surplus = func(partition int) (int64, error) { return n.broker.Surplus(ingestTopic, partition, share) }
	}
	if n.clustered.wire != nil {
		n.clustered.directory = kafka.NewDirectory(n.consumer)
	}
	return n.openStateLog(ctx, brokers, dial)
}

// openBroker opens the embedded log. A damaged one, which would look empty, is a finding.
func (n *node) openBroker(config broker.Config) (*broker.Broker, error) {
	opened, err := broker.Open(config)
	damage, damaged := errors.AsType[*broker.Damage](err)
	if !damaged {
		return opened, err
	}
	err = n.inspection.Report(integrity.Finding{
		What:  damage.Error(),
		Would: "makes the file again; no record is touched",
		Apply: func() error { return broker.Repair(config.Dir) }, First: true,
	})
	if err != nil {
		return nil, err
	}
	return broker.Open(config)
}

// produceTime is how long a request waits for the log before it is answered 503: less
// than SDKs wait for an answer, more than a change of leaders takes.
const produceTime = 4 * time.Second

// gatherShare is the part of the flush interval for which records of one
// partition are gathered before they are read.
const gatherShare = 10

// gatherMost bounds that time, which alerts of the stream wait for.
const gatherMost = 100 * time.Millisecond

// streamHandler lets the consumer be made before the stream that it feeds.
type streamHandler struct{ node *node }

func (h streamHandler) Assigned(ctx context.Context, a svc.LogAssignment) (map[int]int64, error) {
	starts, err := h.node.stream.Assigned(ctx, a)
	if err == nil {
		h.node.progress.Forget()
	}
	return starts, err
}

func (h streamHandler) Ending(ctx context.Context, generation int32) {
	h.node.stream.Ending(ctx, generation)
}

func (h streamHandler) Records(ctx context.Context, partition int, records []svc.LogRecord, highWater int64) error {
	h.node.progress.Read(partition, records)
	return h.node.stream.Records(ctx, partition, records, highWater)
}

func (h streamHandler) Revoked(generation int32) {
	h.node.stream.Revoked(generation)
	h.node.progress.Forget()
}

func (n *node) openPlaces(context.Context) error {
	country, err := geo.FindCountryDB()
	if err != nil {
		return err
	}
	n.places, err = geo.Open(country, n.config.GeoDB)
	return err
}

// maxBlockRows is the size of the open block from which reading the log waits.
const maxBlockRows = 200_000

// maxBlockBytes is the same for what the errors of a block take.
const maxBlockBytes = 64 << 20

// placeCache is how many addresses a partition remembers.
const placeCache = 4096

// wireActors makes the actors, and what runs beside them.
func (n *node) wireActors(context.Context) (err error) {
	n.ownership, n.collectors, n.shares = &pipeline.Ownership{Lease: n.consumer}, apps.NewCollectors(), apps.NewShares()
	n.rules, n.subscriptions = alerting.NewRuleIndex(), &live.Subscriptions{}
	n.cardinality = pipeline.NewCardinality(n.db, n.now, n.logger)
	n.resolved = &issues.ResolvedSet{Store: n.db, Partitions: n.config.Partitions, Skipped: n.unreadable.skipped}
	n.snapshots = &apps.SnapshotSync{
		Collectors: n.collectors, Others: each(n.modules(), func(m module) func() []apps.Snapshot { return m.snapshots }), Skipped: n.unreadable.skipped,
	}
	n.intakes = pipeline.IntakeConfig{
		Locator:    func() pipeline.Locator { return located{geo.NewCache(n.places, placeCache)} },
		Processors: n.processors, Metrics: pipeline.NewIntakeMetrics(n.registry), Logger: n.logger,
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
		Partitions: n.config.Partitions, Ownership: n.ownership, Actors: n.cluster, Sink: n.sink, Log: n.consumer,
		History: n.db, Intakes: n.intakes, Evict: n.cluster.Evict, Claims: n.claims, Now: n.now, Logger: n.logger,
	})
	n.sweeper = &cluster.Sweeper{Cluster: n.cluster, Store: wakeups{n.db}, Every: 5 * time.Second, Logger: n.logger, Now: n.now}
	return nil
}

// wireKinds makes what calls the actors of a cluster, and then the kinds of the actors.
func (n *node) wireKinds(actors *cluster.Cluster) ([]cluster.Kind, error) {
	n.cluster = actors
	n.identity = &identity.Identity{Actors: actors, Random: n.random, Now: n.now}
	n.apps = &apps.Applications{Actors: actors, Random: n.random, Now: n.now, Sync: n.syncSnapshot}
	n.alerts = &alerting.Alerts{Actors: actors, Random: n.random}
	n.updates = &live.Updates{Actors: actors, Logger: n.logger}
	n.releases = &issues.Releases{Actors: actors}
	n.issues = &issues.Issues{Actors: actors, Releases: &issues.ReleaseTimes{Store: n.db, Announced: n.releases, Org: n.orgOf}, Log: n.topic, Partitions: n.config.Partitions}
	n.outbox = pipeline.NewOutbox(n.db.Notes(), actors.Owns, n.logger)
	n.sink = pipeline.NewSink(pipeline.SinkConfig{
		Store: blockStore{n.db}, Log: committed{n.consumer, &n.progress}, Records: n.consumer, Interval: n.config.FlushInterval, MaxRows: maxBlockRows, MaxBytes: maxBlockBytes, Now: n.now,
		NewBlockID: n.newBlockID, Metrics: pipeline.NewSinkMetrics(n.registry), Logger: n.logger,
		Outbox:    n.outbox,
		Listeners: each(n.modules(), func(m module) func() []pipeline.Listener { return m.listeners }),
	})
	n.grains = &grain.Node{Store: n.db, Await: n.awaitClaim, Workers: grain.NewWorkers(), Now: n.now, Logger: n.logger}
	if err := do(n.modules(), func(m module) func() error { return m.wire }); err != nil {
		return nil, err
	}
	n.actorKinds = append(n.kinds(), pipeline.IntakeKind(n.intakes, n.sink))
	return n.actorKinds, nil
}

// close gives everything free that open opened, the last first.
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
