package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"svc/actors/identity"
	"svc/actors/pipeline"
	"svc/cmd/svc/adapter"
	"svc/cmd/svc/backup"
	"svc/cmd/svc/health"
	"svc/cmd/svc/move"
	"svc/cmd/svc/operator"
	"svc/cmd/svc/process"
	"svc/cmd/svc/version"
	"svc/domain"
	"svc/domain/person"
	"svc/http/admin"
	"svc/http/route"
)

func (n *node) wireHTTP(context.Context) error {
	key, err := n.vault.Key("cursors")
	if err != nil {
		return err
	}
	rows, err := n.rows()
	if err != nil {
		return err
	}
	n.handler, err = route.New(route.Config{
		Routes: rows, Callers: n.callers, Authority: n.identity, Applications: n.apps, Reads: n.sinks.Read, Auditor: n.db,
		Replays: &identity.Replays{Actors: n.cluster}, Ledger: n.ledgers(), Cursors: domain.NewCursors(key), Now: n.now,
		PublicURL: n.config.PublicURL, Origin: n.config.Origin(), Revision: version.API, ConcurrentQueries: n.concurrentQueries(), ConcurrentStreams: n.concurrentQueries(),
		Logger: n.logger, Registerer: n.registry,
	})
	if err != nil {
		return err
	}
	if err := n.library.Describe(n.handler.Routes()); err != nil {
		return err
	}
	if n.public, err = route.NewServer(n.config.HTTPAddr, n.handler, n.logger); err != nil {
		return err
	}
	n.public.Limit(process.ClientConnections(n.descriptors))
	token, err := operator.OpenToken(n.dir.Join(operator.TokenFile), n.random.Bytes)
	if err != nil {
		return err
	}
	n.operator.show(n.adminHandler(token)) //nolint:contextcheck // a scrape has no context
	return nil
}

// concurrentQueries is the limit of one token; it is off if the rate limit is off.
func (n *node) concurrentQueries() int {
	if n.config.RateLimit == 0 {
		return 0
	}
	return domain.ConcurrentQueries
}

// adminHosts are the permitted host names of the operator's listener.
func (n *node) adminHosts() []string {
	return append([]string{n.config.AdminAddr}, n.config.AdminHosts...)
}

func (n *node) adminHandler(token domain.Secret) http.Handler {
	n.registerGauges()
	checks := []admin.Check{
		{Name: "start", Ready: n.start.Ready},
		{Name: "log", Ready: n.logReady},
		{Name: "membership", Ready: n.membership},
		{Name: "store", Ready: n.db.Ping},
		{Name: "disk", Ready: n.disk.Ready},
		{Name: "unreadable", Ready: n.unreadable.Warning, Warning: true},
		{Name: "deadLetters", Ready: health.Letters{Store: n.db}.Waiting, Warning: true},
		{Name: "lag", Ready: n.backlog.Ready},
	}
	if n.db.ShardCount() > 1 {
		checks = append(checks, admin.Check{Name: "shards", Ready: n.db.PingShards, Warning: true})
		n.registry.MustRegister(health.NewShards(n.db.Behind, n.now))
	}
	return admin.New(admin.Config{
		Gatherer: n.registry, Operator: organizations{n.identity, n.apps}, Backups: n.backups(), Moves: n.mover(), Ledger: n.ledgers(), Auditor: n.db, Logger: n.logger, Now: n.now, Token: token, Hosts: n.adminHosts(), Console: n.consoleSite,
		Checks:  checks,
		Letters: &pipeline.DeadLetters{Store: n.db, Log: adapter.Producer{Producer: n.producer, Disk: n.disk}, Place: n.placeOf, Shape: n.shape(), Now: n.now},
	})
}

// mover returns the component that moves environments between the shards of this node.
func (n *node) mover() *move.Mover {
	return &move.Mover{
		Store: n.db, Stream: n.stream, Environment: n.environmentOf, Replicated: n.config.ClickHouseCluster != "",
		Erasing: func(environment uint64) bool {
			return slices.ContainsFunc(n.erased.Open(), func(one person.Erasure) bool { return one.EnvironmentNumber == environment })
		},
		BlockAt: func(at time.Time) uint64 { return pipeline.NewBlockNumber(at, 0) },
		Hold:    move.DefaultHold, Now: n.now, Logger: n.logger, Step: n.stepOfMove,
	}
}

// stepOfMove is called for each step of a move.
func (n *node) stepOfMove(name string) error {
	if step := n.moveStep.Load(); step != nil {
		return (*step)(name)
	}
	return nil
}

// environmentOf finds an environment by the address of its application and its slug.
func (n *node) environmentOf(app, slug string) (domain.Environment, error) {
	org, name, _ := strings.Cut(app, "/")
	application, known := n.collectors.Application(domain.AppRef{Org: org, App: name})
	if !known {
		return domain.Environment{}, domain.Errorf(domain.CodeNotFound, "There is no application %q; name it as organization/application.", app)
	}
	slugs := make([]string, 0, len(application.Environments))
	for _, environment := range application.Environments {
		if environment.Slug == slug {
			return environment, nil
		}
		slugs = append(slugs, environment.Slug)
	}
	return domain.Environment{}, domain.Errorf(domain.CodeNotFound, "The application %s has no environment %q; it has %s.", app, slug, strings.Join(slugs, ", "))
}

// backups returns the component that makes backups of this node.
func (n *node) backups() *backup.Maker {
	maker := &backup.Maker{
		Store: n.db, Log: n.topic, Consumer: n.consumer, Pause: n.sinks.Pause, Spooled: n.spool.Bytes,
		Self: n.nodeAddr(), Partitions: n.partitions(), Embedded: n.engine != nil, Shards: n.db.ShardCount(), Replicated: n.config.ClickHouseCluster != "",
		Now: n.now, Logger: n.logger,
	}
	if n.config.StoreListen != "" {
		maker.Within = n.dir.Join(backupsFolder)
	}
	if n.config.MasterKey.Reveal() == "" {
		maker.MasterKey = n.dir.Join(keyFile)
	}
	return maker
}

// backupsFolder is the folder of the data directory to which the embedded store may copy itself if it also serves other
// processes. Without this restriction, these processes could make it write anywhere.
const backupsFolder = "backups"

// copySettings are the settings that let the embedded engine copy itself.
func (n *node) copySettings() map[string]string {
	allowed := "/"
	if n.config.StoreListen != "" {
		allowed = n.dir.Join(backupsFolder)
	}
	return map[string]string{"backups.allowed_path": allowed}
}

// registerGauges registers the gauges that are read from the node's parts at each scrape.
func (n *node) registerGauges() {
	for _, gauge := range []struct {
		name, help string
		value      func() float64
	}{
		{"svc_ingest_lag_records", "Records of the log that are not stored yet.", func() float64 { return float64(n.backlog.Lag(context.Background())) }},
		{"svc_ingest_lag_seconds", "For how long the oldest record of this node's partitions that is not stored has waited.", func() float64 { return n.backlog.Age().Seconds() }},
		{"svc_snapshot_lag_seconds", "For how long this node has not known for certain that its snapshots of keys, settings and rules have every change.", func() float64 { return n.owned.Lag().Seconds() }},
		{"svc_state_tail_bytes", "What was saved and may not be in the store's tables yet.", func() float64 { return float64(n.owned.Waits()) }},
		{"svc_sink_told_later", "Actors that are to be told of a stored block once they answer.", func() float64 { return float64(n.outbox.Len()) }},
	} {
		n.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: gauge.name, Help: gauge.help}, gauge.value))
	}
}
