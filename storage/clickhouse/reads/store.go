package reads

import (
	"embed"
	"slices"

	"svc/storage/clickhouse"
	"svc/storage/clickhouse/people"
	"svc/storage/lru"
)

//go:embed query/*.sql
var queryFiles embed.FS

// pieceBytes limits the memory of the cached visitors of past days.
const pieceBytes = 64 << 20

// Store answers queries about events. Its methods may be called concurrently.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	// persons maps visitors to persons and persons to segments.
	persons *people.Store
	pieces  *lru.Cache[pieceKey, *piece]
	ranks   *lru.Cache[rankKey, []ranked]
	rests   *lru.Cache[rankKey, *dayRest]
	past    *lru.Cache[pastKey, *past]
	todays  *lru.Cache[todayKey, *today]
	// asked has the numbers of the environments that reads have requested.
	asked *lru.Cache[uint64, struct{}]
}

// askedBytes limits the number of requested environments that are remembered, to some 20,000.
const askedBytes = 4 << 20

// New returns the reads of a database.
func New(conn *clickhouse.Conn) (*Store, error) {
	queries, err := clickhouse.LoadQueries(queryFiles)
	if err != nil {
		return nil, err
	}
	persons, err := people.New(conn)
	if err != nil {
		return nil, err
	}
	return &Store{
		conn: conn, queries: queries, persons: persons, pieces: lru.New[pieceKey, *piece](pieceBytes), ranks: lru.New[rankKey, []ranked](rankBytes),
		rests: lru.New[rankKey, *dayRest](restBytes), past: lru.New[pastKey, *past](pastBytes), todays: lru.New[todayKey, *today](todayBytes),
		asked: lru.New[uint64, struct{}](askedBytes),
	}, nil
}

// quiet returns the store for background work. It shares the caches of db.
func (db *Store) quiet() *Store {
	quiet := *db
	quiet.conn = db.conn.Quiet()
	return &quiet
}

// Forget drops the cached data of environments with changed rows.
func (db *Store) Forget(environments []uint64) {
	named := func(environment uint64) bool { return slices.Contains(environments, environment) }
	db.pieces.Drop(func(key pieceKey) bool { return named(key.environment) })
	db.ranks.Drop(func(key rankKey) bool { return named(key.environment) })
	db.rests.Drop(func(key rankKey) bool { return named(key.environment) })
	db.past.Drop(func(key pastKey) bool { return named(key.environment) })
	db.todays.Drop(func(key todayKey) bool { return named(key.environment) })
}
