package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/singleflight"

	"svc"
)

const (
	// queryTime bounds a read; the caller's deadline may be sooner.
	queryTime = 30 * time.Second
	// queryMemory bounds what one read may allocate in the engine, in bytes.
	queryMemory = 2 << 30
	// maxConnections is the number of statements that one node runs at once.
	maxConnections = 32
	// questionPlaces is the number of them that questions may take; the rest is for writes
	// and for what writes wait for.
	questionPlaces = 24
	// dayCacheBytes bounds what the results of past days may take in memory.
	dayCacheBytes = 64 << 20
	// metricRows bounds the groups of a metric of which all points are read, in rows.
	metricRows = 50_000
	// defaultDatabase is meant where the configuration names none.
	defaultDatabase = "svc"
)

// Dialer opens connections to an engine inside the process.
type Dialer interface {
	DialContext(ctx context.Context, addr string) (net.Conn, error)
}

// Config says which engine to use. Exactly one of DSN and Engine is set.
type Config struct {
	// DSN names a server, for example http://user:password@host:8123/ or
	// clickhouse://host:9000/. A database in it yields to Database.
	DSN    string
	Engine Dialer
	// Database is made if it does not exist; empty means svc.
	Database string
	// Durable forces inserts to disk before they are acknowledged.
	Durable bool
	// Alone says that no other process uses the database.
	Alone bool
	// TableDir returns the folder of a table on this machine by its uuid; nil where the
	// store's files are elsewhere.
	TableDir func(uuid string) string
	// Skipped is told of what cannot be decoded and was left out of a read of many owners, or
	// nil. A record of the journal has its key as id and no owner.
	Skipped func(entity svc.Entity, err error)
}

// DB is an open database. Its methods may be called at the same time from any number
// of goroutines.
type DB struct {
	config  Config
	conn    driver.Conn
	queries map[string]string
	// server says that the other end is a server and not the engine of this process.
	server bool
	native bool
	// quiet says that nobody waits for the reads.
	quiet   bool
	reading atomic.Int64 // the reads under way
	// questions holds one element for each question under way.
	questions chan struct{}
	flight    singleflight.Group
	inserts   *underWay
	days      *dayCache
	ranks     *memory[rankKey, []ranked]
	rests     *memory[rankKey, *dayRest]
	past      *memory[pastKey, *past]
	todays    *memory[todayKey, *today]
	stores    *committer[record]
	// writes is read-locked by every write, for as long as it is in some of its tables and not in
	// all, and locked by a snapshot.
	writes sync.RWMutex
	loads  *committer[*ownerLoad]
	latest *committer[*latestCheck]
	// journal takes small writes; nil where the store has no engine for it.
	journal *journal
	// rowsAtOnce is metricRows.
	rowsAtOnce uint64
	skipped    func(entity svc.Entity, err error)
	// catalogue is what metric_series was told by this process.
	catalogue seriesNotes
}

// Open connects, makes the database and applies the migrations that it lacks. Nodes
// may open the same database at the same time.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	if cfg.Database == "" {
		cfg.Database = defaultDatabase
	}
	queries, err := loadQueries()
	if err != nil {
		return nil, err
	}
	db := &DB{config: cfg, queries: queries, days: newDayCache(dayCacheBytes), server: cfg.Engine == nil, rowsAtOnce: metricRows}
	db.skipped = cfg.Skipped
	if db.skipped == nil {
		db.skipped = func(svc.Entity, error) {}
	}
	db.inserts = &underWay{}
	db.questions = make(chan struct{}, questionPlaces)
	db.ranks, db.rests = newMemory[rankKey, []ranked](rankBytes), newMemory[rankKey, *dayRest](restBytes)
	db.past = newMemory[pastKey, *past](pastBytes)
	db.todays = newMemory[todayKey, *today](todayBytes)
	db.stores = newCommitter(db.storeWhole)
	db.loads, db.latest = newCommitter(db.loadAll), newCommitter(db.loadStates)
	if err := db.connect(ctx, cfg); err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", cfg.Database, err)
	}
	if err := db.migrate(ctx, cfg.Durable); err != nil {
		return nil, errors.Join(fmt.Errorf("migrating the database %s: %w", cfg.Database, err), db.conn.Close())
	}
	if err := db.openJournal(ctx, &cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the journal of the database %s: %w", cfg.Database, err), db.conn.Close())
	}
	return db, nil
}

// connect makes the database over a connection of its own, because a connection to a
// database that does not exist is refused.
func (db *DB) connect(ctx context.Context, cfg Config) error {
	options, err := cfg.options()
	if err != nil {
		return err
	}
	db.native = options.Protocol == clickhouse.Native
	options.Auth.Database = "default"
	first, err := clickhouse.Open(options)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	err = first.Exec(ctx, db.queries["database.Create"], clickhouse.Named("database", cfg.Database))
	if err = errors.Join(err, first.Close()); err != nil {
		return unavailable(err)
	}
	if options, err = cfg.options(); err != nil {
		return err
	}
	options.Auth.Database = cfg.Database
	db.conn, err = clickhouse.Open(options)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	return nil
}

// CheckDSN returns why a DSN cannot be used, nil where nothing speaks against it. Its errors
// repeat nothing of the DSN, which may hold a password.
func CheckDSN(dsn string) error {
	options, err := clickhouse.ParseDSN(dsn)
	switch {
	case err != nil:
		return errors.New("it is no URL of the form clickhouse://user:password@host:port/database")
	case len(options.Addr) != 1:
		return fmt.Errorf("it names %d servers, and exactly one can be used: each would hold data of its own", len(options.Addr))
	}
	return nil
}

func (cfg Config) options() (*clickhouse.Options, error) {
	options := &clickhouse.Options{Protocol: clickhouse.HTTP, Addr: []string{"engine"}}
	switch {
	case (cfg.DSN == "") == (cfg.Engine == nil):
		return nil, errors.New("exactly one of a DSN and an engine must be given")
	case cfg.Engine != nil:
		options.DialContext = cfg.Engine.DialContext
	default:
		var err error
		if err = CheckDSN(cfg.DSN); err != nil {
			return nil, fmt.Errorf("reading the DSN: %w", err)
		}
		if options, err = clickhouse.ParseDSN(cfg.DSN); err != nil {
			return nil, fmt.Errorf("reading the DSN: %w", err)
		}
	}
	options.MaxOpenConns, options.MaxIdleConns = maxConnections, maxConnections
	if options.Settings == nil {
		options.Settings = clickhouse.Settings{}
	}
	options.Settings["async_insert"] = 0
	options.Settings["session_timezone"] = "UTC"
	return options, nil
}

// Close settles the journal and ends the connections. Calls that are still running fail.
func (db *DB) Close() error {
	if err := errors.Join(db.journal.close(), db.conn.Close()); err != nil {
		return fmt.Errorf("closing the database: %w", err)
	}
	return nil
}

// Ping returns svc.CodeUnavailable while the store does not answer.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.conn.Ping(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}
