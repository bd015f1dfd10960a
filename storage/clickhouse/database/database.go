// Package database opens all parts of the store over one connection.
package database

import (
	"context"
	"errors"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/alerts"
	"svc/storage/clickhouse/backup"
	"svc/storage/clickhouse/block"
	"svc/storage/clickhouse/campaigns"
	"svc/storage/clickhouse/destinations"
	"svc/storage/clickhouse/exports"
	"svc/storage/clickhouse/flags"
	"svc/storage/clickhouse/issues"
	"svc/storage/clickhouse/metrics"
	"svc/storage/clickhouse/moves"
	"svc/storage/clickhouse/people"
	"svc/storage/clickhouse/reads"
	"svc/storage/clickhouse/state"
	"svc/storage/clickhouse/telemetry"
)

// The parts of the store, under distinct names because DB embeds them.
type (
	// StateStore stores the state of actors.
	StateStore = state.Store
	// BlockStore stores blocks of rows.
	BlockStore = block.Store
	// ReadStore answers queries about events.
	ReadStore = reads.Store
	// IssueStore answers queries about issues.
	IssueStore = issues.Store
	// MetricStore answers queries about metrics.
	MetricStore = metrics.Store
	// AlertStore reads the data for alerting.
	AlertStore = alerts.Store
	// PeopleStore answers queries about people.
	PeopleStore = people.Store
	// TelemetryStore reads the fates of items.
	TelemetryStore = telemetry.Store
	// FlagStore answers queries about evaluations of flags.
	FlagStore = flags.Store
	// DeliveryStore stores the log of deliveries to destinations.
	DeliveryStore = destinations.Store
	// CampaignStore stores the recipients of campaigns.
	CampaignStore = campaigns.Store
	// BackupStore takes snapshots.
	BackupStore = backup.Store
	// ExportStore stores the rows of exports.
	ExportStore = exports.Store
	// MoveStore copies environments between shards.
	MoveStore = moves.Store
)

// DB is an open database: its connection and its parts. Its methods may be called concurrently.
type DB struct {
	*clickhouse.Conn
	*StateStore
	*BlockStore
	*ReadStore
	*IssueStore
	*MetricStore
	*AlertStore
	*PeopleStore
	*TelemetryStore
	*FlagStore
	*DeliveryStore
	*CampaignStore
	*BackupStore
	*ExportStore
	*MoveStore
}

// Open opens the database and all of its parts.
func Open(ctx context.Context, cfg clickhouse.Config, owned state.Config) (*DB, error) {
	conn, err := clickhouse.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	opened, err := state.Open(ctx, conn, owned)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	db := &DB{Conn: conn, StateStore: opened}
	var problems [13]error
	db.BlockStore, problems[0] = block.New(conn)
	db.ReadStore, problems[1] = reads.New(opened.Conn()) // segments read the decisions of members
	db.MetricStore, problems[2] = metrics.New(conn)
	db.IssueStore, problems[3] = issues.New(opened)
	db.AlertStore, problems[4] = alerts.New(opened)
	db.BackupStore, problems[5] = backup.New(opened)
	db.PeopleStore, problems[6] = people.New(opened.Conn())
	db.TelemetryStore, problems[7] = telemetry.New(conn)
	db.FlagStore, problems[8] = flags.New(opened)
	db.ExportStore, problems[9] = exports.New(conn)
	db.DeliveryStore, problems[10] = destinations.New(conn)
	db.CampaignStore, problems[11] = campaigns.New(conn)
	db.MoveStore, problems[12] = moves.New(conn)
	if err := errors.Join(problems[:]...); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// Close closes the connection. Running calls fail.
func (db *DB) Close() error { return db.Conn.Close() }
