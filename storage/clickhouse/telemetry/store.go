// Package telemetry reads the fates of the items that environments sent.
package telemetry

import (
	"context"
	"embed"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"svc/domain/ingest"
	"svc/domain/telemetry"
	"svc/storage/clickhouse"
)

// Files has the queries of this package.
//
//go:embed query/*.sql
var Files embed.FS

// Store reads counts. Its methods may be called concurrently.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
}

// New returns the telemetry store of a database.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(Files)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries}, nil
}

// Usage returns the counts of an environment from a UTC day on.
func (db *Store) Usage(ctx context.Context, environment uint64, since time.Time) ([]ingest.UsageCount, error) {
	var counts []ingest.UsageCount
	args := clickhouse.Args{"environment": environment, "since": since.UTC().Format(time.DateOnly)}
	err := db.conn.Read(ctx, "reading usage", db.queries["usage.Days"], args, func(rows driver.Rows) (bool, error) {
		one := ingest.UsageCount{UsageKey: ingest.UsageKey{Environment: environment}}
		var signal, fate string
		var day, last time.Time
		err := rows.Scan(&day, &signal, &fate, &one.Code, &one.Items, &one.Bytes, &last)
		one.Day, one.Signal, one.Fate, one.Last = ingest.DayOf(day.UnixMilli()), ingest.Signal(signal), ingest.Fate(fate), last.UnixMilli()
		counts = append(counts, one)
		return true, err
	})
	return counts, err
}

// StoredSince returns the number of items that some environments stored since a UTC day, by signal.
func (db *Store) StoredSince(ctx context.Context, environments []uint64, since time.Time) (map[uint64]map[ingest.Signal]int64, error) {
	stored := map[uint64]map[ingest.Signal]int64{}
	err := clickhouse.Split(db.conn, environments, clickhouse.Environment, func(conn *clickhouse.Conn, environments []uint64) error {
		args := clickhouse.Args{"environments": environments, "since": since.UTC().Format(time.DateOnly)}
		return conn.Read(ctx, "reading what budgets count", db.queries["usage.Stored"], args, func(rows driver.Rows) (bool, error) {
			var environment uint64
			var signal string
			var items int64
			err := rows.Scan(&environment, &signal, &items)
			if stored[environment] == nil {
				stored[environment] = map[ingest.Signal]int64{}
			}
			stored[environment][ingest.Signal(signal)] = items
			return true, err
		})
	})
	return stored, err
}

// Pulses returns the arrivals of items of some environments since a UTC day, by signal.
func (db *Store) Pulses(ctx context.Context, environments []uint64, since time.Time) (map[uint64]map[ingest.Signal]telemetry.SignalPulse, error) {
	pulses := map[uint64]map[ingest.Signal]telemetry.SignalPulse{}
	err := clickhouse.Split(db.conn, environments, clickhouse.Environment, func(conn *clickhouse.Conn, environments []uint64) error {
		args := clickhouse.Args{"environments": environments, "since": since.UTC().Format(time.DateOnly)}
		return conn.Read(ctx, "reading when items arrived", db.queries["usage.Pulses"], args, func(rows driver.Rows) (bool, error) {
			var environment, minutes uint64
			var signal string
			var pulse telemetry.SignalPulse
			var pauses []int32
			err := rows.Scan(&environment, &signal, &pulse.First, &pulse.Last, &minutes, &pauses)
			pulse.Minutes = int(minutes)
			for n, pause := range pauses {
				*[]*time.Duration{&pulse.Longest, &pulse.Second}[n] = time.Duration(pause) * time.Minute
			}
			if pulses[environment] == nil {
				pulses[environment] = map[ingest.Signal]telemetry.SignalPulse{}
			}
			pulses[environment][ingest.Signal(signal)] = pulse
			return true, err
		})
	})
	return pulses, err
}
