package block

import (
	"embed"
	"sync/atomic"
	"time"

	"svc/storage/clickhouse"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Store stores blocks and reads the state that intakes need after a restart. Its methods may be called from any number
// of goroutines at the same time.
type Store struct {
	// conn connects to one shard; for the store of [New] it is the first. home connects to all shards.
	conn    *clickhouse.Conn
	home    *clickhouse.Conn
	queries clickhouse.Queries
	// shards are the stores of all shards by their numbers, beginning with the store of [New]. shardOf returns the
	// number of the shard of an environment.
	shards []*Store
	// remembered returns the stores from which intakes read their state after a restart.
	remembered func() []*Store
	shardOf    func(environment uint64) int
	// catalogue caches the rows that this process wrote to metric_series.
	catalogue seriesNotes
	suspects  suspects
	// waiting is the time since which inserts into the shard fail or run, in milliseconds since 1970. It is 0 if all
	// are stored.
	waiting atomic.Int64
}

// New returns the store of blocks of a database and its shards.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	var shards []*Store
	for _, one := range conn.Shards() {
		shards = append(shards, &Store{conn: one, home: conn, queries: queries, shardOf: conn.ShardOf})
	}
	for _, one := range shards {
		one.shards, one.remembered = shards, func() []*Store { return shards }
	}
	return shards[0], nil
}

// History returns a view of the store from which the intakes of a shard's partitions read their state after a restart:
// the rows of the environments with items in these partitions. It reads the store of that shard, and the stores to
// which such environments were moved.
func (db *Store) History(shard int) *Store {
	home := db.shards[shard]
	remembered := func() (stores []*Store) {
		for _, conn := range db.home.HomedOn(shard, "events", "occurrences", "metric_points") {
			stores = append(stores, &Store{conn: conn, queries: db.queries})
		}
		return stores
	}
	return &Store{conn: home.conn, home: db.home, queries: db.queries, shards: db.shards, remembered: remembered, shardOf: db.shardOf}
}

// Behind returns for how long inserts into each shard have not completed, by shard number.
func (db *Store) Behind(now time.Time) []time.Duration {
	behind := make([]time.Duration, len(db.shards))
	for n, shard := range db.shards {
		if since := shard.waiting.Load(); since != 0 {
			behind[n] = max(0, now.Sub(time.UnixMilli(since)))
		}
	}
	return behind
}

// of returns the store of the shard of an environment.
func (db *Store) of(environment uint64) *Store { return db.shards[db.shardOf(environment)] }
