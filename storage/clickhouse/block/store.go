package block

import (
	"embed"
	"sync/atomic"
	"time"

	"svc/storage/clickhouse"
)

//go:embed query/*.sql
var queryFiles embed.FS

// Store stores blocks and reads back what intakes need after a restart. Its methods may be
// called from any number of goroutines at the same time.
type Store struct {
	// conn leads to one shard, for [New]'s store to the first; home leads to all.
	conn    *clickhouse.Conn
	home    *clickhouse.Conn
	queries clickhouse.Queries
	// shards are the stores of all shards by their numbers, this one the first of them; shardOf returns
	// the number of an environment's.
	shards []*Store
	// remembered returns the stores from which intakes read what they need after a restart.
	remembered func() []*Store
	shardOf    func(environment uint64) int
	// catalogue notes what this process has written to metric_series.
	catalogue seriesNotes
	suspects  suspects
	// waiting is since when the shard has not taken what is to be stored there, in milliseconds since 1970; 0 where
	// it has taken all.
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

// History returns a view of the store by which the intakes of a shard's partitions read what they need
// after a restart: the rows of the environments whose items are in these partitions. It asks the store of that
// shard, and those to which such environments were moved.
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

// Behind returns for how long each shard has not taken what is to be stored there, by their numbers.
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
