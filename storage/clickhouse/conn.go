package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/sync/singleflight"

	"svc/domain"
)

const (
	// QueryTime limits a read. The caller's deadline may be earlier.
	QueryTime = 30 * time.Second
	// WriteTime limits a write that callers share.
	WriteTime = 30 * time.Second
	// queryMemory limits the memory of one read in the engine, in bytes.
	queryMemory = 2 << 30
	// quietMemory is the same limit for a read in the background.
	quietMemory = 1 << 30
	// MaxConnections is the maximum number of concurrent statements of one node.
	MaxConnections = 32
	// QuestionPlaces is the number of MaxConnections that calls of Read may take. The rest is reserved for writes and
	// for the reads that writes wait for.
	QuestionPlaces = 24
	// defaultDatabase is used if the configuration names no database.
	defaultDatabase = "svc"
)

// Dialer opens connections to an engine inside the process.
type Dialer interface {
	DialContext(ctx context.Context, addr string) (net.Conn, error)
}

// Config configures a connection. Exactly one of DSN and Engine is set.
type Config struct {
	// DSN names a server, for example http://user:password@host:8123/ or clickhouse://host:9000/. A database in it is
	// ignored in favour of Database.
	DSN    string
	Engine Dialer
	// Others are the stores of the shards after the first, in the order of their numbers. Only their DSN or engine and
	// their database count.
	Others []Config
	// Late allows servers to be unavailable at the opening. Their statements fail until [Conn.Admit] has opened them.
	Late bool
	// Database is created if it does not exist. Empty means svc.
	Database string
	// Cluster is the name under which the servers know the replicas of a shard. Empty means one server without
	// replicas. All shards use the same name.
	Cluster string
	// Durable syncs inserts to disk before they are acknowledged.
	Durable bool
	// Skipped is called for every entity that a read of many owners skipped because it cannot be decoded. It may be
	// nil. For a record of the journal, the entity has the record's key as its id and no owner.
	Skipped func(entity domain.Entity, err error)
	// Damaged is called for every read that met files with wrong checksums. It may be nil.
	Damaged func(err error)
}

// DatabaseName returns the name of the database, the default if the configuration has none.
func (cfg *Config) DatabaseName() string {
	if cfg.Database == "" {
		return defaultDatabase
	}
	return cfg.Database
}

// Conn is a connection to one database. Its methods may be called concurrently.
type Conn struct {
	*link
	// shards has the links of all shards by number. It is nil if there is only one shard, or if this is the connection
	// of one shard. home is the link of shard 0.
	shards []*link
	home   *link
	// quiet limits reads to one thread and less memory.
	quiet bool
	// all means that reads include hidden rows.
	all bool
	// flush moves the journal's records to their tables. It is nil on a connection that may not read these tables.
	flush func(context.Context) error
	// places lists the environments on another shard than the one of their number. limits has conditions for the rows
	// that this form of the connection reads, by table.
	places *places
	limits map[string]string
}

// link is shared by all forms of a connection to one store.
type link struct {
	config Config
	driver driver.Conn
	// server is set if the other end is a server, instead of the engine of this process. native is set if it is reached
	// over ClickHouse's TCP protocol.
	server, native bool
	reading        atomic.Int64 // number of running reads
	// questions has one element for each running call of Read.
	questions chan struct{}
	flight    singleflight.Group
	inserts   blocksUnderWay
	// hidden has the conditions for readable rows. It is nil if no row is hidden.
	hidden atomic.Pointer[hiddenRows]
	// writes is read-locked while a write has reached some of its tables but not all, and locked while a snapshot is
	// taken. All shards share it.
	writes *sync.RWMutex
	// brought is the state for joins that this shard has.
	brought brought
}

// Open connects, creates the database and applies missing migrations, on every shard. Nodes may open the same database
// concurrently.
func Open(ctx context.Context, cfg Config) (*Conn, error) {
	queries, err := LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	conn, err := openLate(ctx, cfg, queries)
	if err != nil {
		return nil, err
	}
	for _, other := range cfg.Others {
		if err := conn.addShard(ctx, other, queries); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}

// openOne opens the store of one shard.
func openOne(ctx context.Context, cfg Config, queries Queries) (*Conn, error) {
	if err := create(ctx, cfg, queries); err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", cfg.DatabaseName(), err)
	}
	conn, err := Connect(cfg)
	if err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", cfg.DatabaseName(), err)
	}
	if err := conn.migrate(ctx, queries); err != nil {
		return nil, errors.Join(fmt.Errorf("migrating the database %s: %w", cfg.DatabaseName(), err), conn.Close())
	}
	return conn, nil
}

// create creates the database over a separate connection, because a server refuses connections to a database that does
// not exist.
func create(ctx context.Context, cfg Config, queries Queries) error {
	name := cfg.DatabaseName()
	cfg.Database = "default"
	conn, err := Connect(cfg)
	if err != nil {
		return err
	}
	err = conn.Exec(ctx, newDefinitions(cfg.Cluster).of(queries["database.Create"]), Args{"database": name})
	if err = errors.Join(err, conn.Close()); err != nil {
		return unavailable(err)
	}
	return nil
}

// Connect returns a connection to an existing database. It applies no migrations.
func Connect(cfg Config) (*Conn, error) {
	options, err := cfg.options()
	if err != nil {
		return nil, err
	}
	options.Auth.Database = cfg.DatabaseName()
	opened, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if cfg.Skipped == nil {
		cfg.Skipped = func(domain.Entity, error) {}
	}
	made := &link{
		config: cfg, driver: opened, server: cfg.Engine == nil, native: options.Protocol == clickhouse.Native,
		questions: make(chan struct{}, QuestionPlaces), writes: &sync.RWMutex{},
	}
	return &Conn{link: made, home: made, places: &places{}}, nil
}

// Beside returns a connection to another database on the same server or engine, for one statement at a time.
func (c *Conn) Beside(database string) (*Conn, error) {
	cfg := c.config
	cfg.Database = database
	return Connect(cfg)
}

// Quiet returns the connection for background work: its reads have one thread and less memory.
func (c *Conn) Quiet() *Conn {
	quiet := *c
	quiet.quiet = true
	return &quiet
}

// All returns the connection for reads that include the rows hidden by [Conn.Hide].
func (c *Conn) All() *Conn {
	all := *c
	all.all = true
	return &all
}

// Hide hides rows from all reads that begin after it: of each table only rows that meet its condition are read. It
// replaces the previous conditions.
func (c *Conn) Hide(conditions map[string]string) {
	if len(conditions) == 0 {
		c.each(func(l *link) { l.hidden.Store(nil) })
		return
	}
	hidden := &hiddenRows{conditions: maps.Clone(conditions), text: filterMap(conditions)}
	c.each(func(l *link) { l.hidden.Store(hidden) })
}

// Flushing returns the connection for reads of the tables that the journal fills: it calls flush before each such read.
// Other connections refuse these reads.
func (c *Conn) Flushing(flush func(context.Context) error) *Conn {
	flushing := *c
	flushing.flush = flush
	return &flushing
}

// Database returns the name of the database.
func (c *Conn) Database() string { return c.config.DatabaseName() }

// Durable reports whether inserts are synced to disk before they are acknowledged.
func (c *Conn) Durable() bool { return c.config.Durable }

// Replicated reports whether a shard consists of several servers.
func (c *Conn) Replicated() bool { return c.config.Cluster != "" }

// Served reports whether the store is a server, which other clients may also use, instead of the engine of this
// process.
func (c *Conn) Served() bool { return c.server }

// Skipped reports an entity that a read skipped because it cannot be decoded.
func (c *Conn) Skipped(entity domain.Entity, err error) { c.config.Skipped(entity, err) }

// Reading reports whether reads are running.
func (c *Conn) Reading() (reading bool) {
	c.each(func(l *link) { reading = reading || l.reading.Load() > 0 })
	return reading
}

// Questions returns the number of running calls of Read.
func (c *Conn) Questions() (running int) {
	c.each(func(l *link) { running += len(l.questions) })
	return running
}

// CheckDSN returns an error if a DSN cannot be used. Only the DSN of a cluster may name several servers. The error
// repeats no part of the DSN, which may contain a password.
func CheckDSN(dsn, cluster string) error {
	options, err := clickhouse.ParseDSN(dsn)
	switch {
	case err != nil:
		return errors.New("it is no URL of the form clickhouse://user:password@host:port/database")
	case len(options.Addr) != 1 && cluster == "":
		return fmt.Errorf("it names %d servers, and exactly one can be used: each would hold data of its own", len(options.Addr))
	}
	return nil
}

func (cfg *Config) options() (*clickhouse.Options, error) {
	options := &clickhouse.Options{Protocol: clickhouse.HTTP, Addr: []string{"engine"}}
	switch {
	case (cfg.DSN == "") == (cfg.Engine == nil):
		return nil, errors.New("exactly one of a DSN and an engine must be given")
	case cfg.Engine != nil:
		options.DialContext = cfg.Engine.DialContext
	default:
		var err error
		if err = CheckDSN(cfg.DSN, cfg.Cluster); err != nil {
			return nil, fmt.Errorf("reading the DSN: %w", err)
		}
		if options, err = clickhouse.ParseDSN(cfg.DSN); err != nil {
			return nil, fmt.Errorf("reading the DSN: %w", err)
		}
	}
	options.MaxOpenConns, options.MaxIdleConns = MaxConnections, MaxConnections
	if options.Settings == nil {
		options.Settings = clickhouse.Settings{}
	}
	options.Settings["async_insert"] = 0
	options.Settings["session_timezone"] = "UTC"
	if cfg.Cluster != "" {
		maps.Copy(options.Settings, replicaSettings())
	}
	return options, nil
}

// Close closes the connection. Running calls fail.
func (c *Conn) Close() (err error) {
	c.each(func(l *link) {
		if closing := l.driver.Close(); closing != nil {
			err = errors.Join(err, fmt.Errorf("closing the database: %w", closing))
		}
	})
	return err
}

// Ping returns domain.CodeUnavailable if the store does not answer. With shards it checks only shard 0.
func (c *Conn) Ping(ctx context.Context) error {
	if err := c.driver.Ping(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}
