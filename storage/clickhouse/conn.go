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

	"svc"
)

const (
	// QueryTime bounds a read; the caller's deadline may be sooner.
	QueryTime = 30 * time.Second
	// WriteTime bounds a write that callers share.
	WriteTime = 30 * time.Second
	// queryMemory bounds what one read may allocate in the engine, in bytes.
	queryMemory = 2 << 30
	// quietMemory is the same bound for a read in the background.
	quietMemory = 1 << 30
	// MaxConnections is the number of statements that one node runs at once.
	MaxConnections = 32
	// QuestionPlaces is how many of MaxConnections questions may take; the rest is kept for
	// writes and for the reads that writes wait for.
	QuestionPlaces = 24
	// defaultDatabase is used where the configuration names none.
	defaultDatabase = "svc"
)

// Dialer opens connections to an engine inside the process.
type Dialer interface {
	DialContext(ctx context.Context, addr string) (net.Conn, error)
}

// Config names the engine. Exactly one of DSN and Engine is set.
type Config struct {
	// DSN names a server, for example http://user:password@host:8123/ or
	// clickhouse://host:9000/. A database in it is ignored in favour of Database.
	DSN    string
	Engine Dialer
	// Others are the stores of the shards after the first, in the order of their numbers. Of them only
	// the place and the database count.
	Others []Config
	// Late has servers be away at the opening: their statements fail until [Conn.Admit] has opened them.
	Late bool
	// Database is created if it does not exist; empty means svc.
	Database string
	// Cluster is the name by which the servers know the replicas of a shard; empty means one server without
	// replicas. All shards have it.
	Cluster string
	// Durable forces inserts to disk before they are acknowledged.
	Durable bool
	// Skipped is called for every entity that a read of many owners left out because it cannot
	// be decoded. It may be nil. For a record of the journal, the entity has the record's key
	// as its id and no owner.
	Skipped func(entity svc.Entity, err error)
	// Damaged is called for every read that met files which do not match their checksums. It may be nil.
	Damaged func(err error)
}

// DatabaseName returns the name of the database, the default if the configuration has none.
func (cfg *Config) DatabaseName() string {
	if cfg.Database == "" {
		return defaultDatabase
	}
	return cfg.Database
}

// Conn is a connection to one database. Its methods may be called from any number of
// goroutines at the same time.
type Conn struct {
	*link
	// shards are the links of all shards by their numbers, nil where there is one or where this is the
	// connection of one of them; home is the link of shard 0.
	shards []*link
	home   *link
	// quiet limits reads to one thread and less memory.
	quiet bool
	// all reads hidden rows as well.
	all bool
	// flush moves the journal's records to their tables; nil on a connection that may not
	// read these tables.
	flush func(context.Context) error
	// places says which environments do not live where their numbers say; limits are conditions that the
	// rows of tables must meet for this form of the connection.
	places *places
	limits map[string]string
}

// link is shared by all forms of a connection to one store.
type link struct {
	config Config
	driver driver.Conn
	// server is set if the other end is a server and not the engine of this process; native, if it
	// is reached over ClickHouse's TCP protocol.
	server, native bool
	reading        atomic.Int64 // reads that are running
	// questions holds one element for each running question.
	questions chan struct{}
	flight    singleflight.Group
	inserts   blocksUnderWay
	// hidden has the conditions that rows must meet to be read; nil where nothing is hidden.
	hidden atomic.Pointer[hiddenRows]
	// writes is read-locked while a write is in some of its tables and not yet in all, and
	// locked while a snapshot is taken. All shards share it.
	writes *sync.RWMutex
	// brought is what a shard has of the state that its queries join.
	brought brought
}

// Open connects, creates the database and applies the migrations that it lacks, on every shard. Nodes
// may open the same database at the same time.
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

// create makes the database over a connection of its own: a server refuses connections to a
// database that does not exist.
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

// Connect returns a connection to a database that exists, and applies no migrations.
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
		cfg.Skipped = func(svc.Entity, error) {}
	}
	made := &link{
		config: cfg, driver: opened, server: cfg.Engine == nil, native: options.Protocol == clickhouse.Native,
		questions: make(chan struct{}, QuestionPlaces), writes: &sync.RWMutex{},
	}
	return &Conn{link: made, home: made, places: &places{}}, nil
}

// Beside returns a connection to another database at the same place, for one statement at a
// time.
func (c *Conn) Beside(database string) (*Conn, error) {
	cfg := c.config
	cfg.Database = database
	return Connect(cfg)
}

// Quiet returns the connection for work in the background: its reads have one thread and less
// memory.
func (c *Conn) Quiet() *Conn {
	quiet := *c
	quiet.quiet = true
	return &quiet
}

// All returns the connection for reads of rows that [Conn.Hide] keeps from others.
func (c *Conn) All() *Conn {
	all := *c
	all.all = true
	return &all
}

// Hide keeps rows from all reads that begin after it: of each table only those are read that meet its
// condition. It replaces what was hidden before.
func (c *Conn) Hide(conditions map[string]string) {
	if len(conditions) == 0 {
		c.each(func(l *link) { l.hidden.Store(nil) })
		return
	}
	hidden := &hiddenRows{conditions: maps.Clone(conditions), text: filterMap(conditions)}
	c.each(func(l *link) { l.hidden.Store(hidden) })
}

// Flushing returns the connection for reads of the tables whose rows come through the
// journal: it calls flush before each. Connections without it refuse such reads.
func (c *Conn) Flushing(flush func(context.Context) error) *Conn {
	flushing := *c
	flushing.flush = flush
	return &flushing
}

// Database returns the name of the database.
func (c *Conn) Database() string { return c.config.DatabaseName() }

// Durable reports whether inserts are forced to disk before they are acknowledged.
func (c *Conn) Durable() bool { return c.config.Durable }

// Replicated reports whether a shard is several servers.
func (c *Conn) Replicated() bool { return c.config.Cluster != "" }

// Served reports whether the store is a server, which others may use too, and not the engine of this process.
func (c *Conn) Served() bool { return c.server }

// Skipped reports an entity that a read left out because it cannot be decoded.
func (c *Conn) Skipped(entity svc.Entity, err error) { c.config.Skipped(entity, err) }

// Reading reports whether reads are running.
func (c *Conn) Reading() (reading bool) {
	c.each(func(l *link) { reading = reading || l.reading.Load() > 0 })
	return reading
}

// Questions returns how many calls of Read are running.
func (c *Conn) Questions() (running int) {
	c.each(func(l *link) { running += len(l.questions) })
	return running
}

// CheckDSN returns why a DSN cannot be used, or nil; only that of a cluster may name several servers. Its errors
// repeat nothing of the DSN, which may hold a password.
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

// Close ends the connection. Calls that are still running fail.
func (c *Conn) Close() (err error) {
	c.each(func(l *link) {
		if closing := l.driver.Close(); closing != nil {
			err = errors.Join(err, fmt.Errorf("closing the database: %w", closing))
		}
	})
	return err
}

// Ping returns svc.CodeUnavailable while the store does not answer; with shards, while shard 0 does not.
func (c *Conn) Ping(ctx context.Context) error {
	if err := c.driver.Ping(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}
