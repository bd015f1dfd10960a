package revenue

import (
	"context"
	"embed"
	"fmt"
	"sync"

	"github.com/go-faster/city"

	"svc/domain/person"
	"svc/domain/revenue"
	"svc/storage/clickhouse"
	"svc/storage/lru"
)

//go:embed query/*.sql
var files embed.FS

// ledgerBytes limits the cached ledgers of a process. A larger ledger is computed again for each answer.
const ledgerBytes = 256 << 20

// Store computes ledgers. Its methods may be called concurrently.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	erased  func() *person.ErasedVisitors
	ledgers *lru.Cache[ledgerKey, *kept]
	// chunk is the approximate number of items that are applied at a time.
	chunk int
	// making has the ledgers that are being computed or changed; guarded by mu.
	mu     sync.Mutex
	making map[ledgerKey]*kept
}

// ledgerKey identifies a ledger. Each reporting currency has a separate ledger.
type ledgerKey struct {
	environment uint64
	currency    string
}

// New returns the revenue store of a database. erased returns the erased visitors, whose names must no longer appear.
func New(conn *clickhouse.Conn, erased func() *person.ErasedVisitors) (*Store, error) {
	queries, err := clickhouse.LoadQueries(files)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries, chunk: chunkItems, ledgers: lru.New[ledgerKey, *kept](ledgerBytes), making: map[ledgerKey]*kept{}, erased: erased}, nil
}

// RevenueLedger returns the ledger of an environment in a currency. Without a currency it uses the currency of the
// first item. The cached ledger is updated with newer items; the first one is computed from all items. If that takes
// longer than a read may take, the error is domain.CodeUnavailable with the progress, and the next call continues from
// there.
func (db *Store) RevenueLedger(ctx context.Context, environment uint64, currency string) (*revenue.Ledger, error) {
	key, erased := ledgerKey{environment, currency}, db.erased()
	name := fmt.Sprintf("ledger %d %s %d", environment, currency, erased.Count(environment))
	return clickhouse.Share(ctx, db.conn.Of(environment), name, func(ctx context.Context) (*revenue.Ledger, error) {
		of := db.take(key)
		of.mu.Lock()
		defer of.mu.Unlock()
		defer db.give(key, of)
		return db.follow(ctx, of, erased)
	})
}

// take returns the cached state of a ledger. Concurrent callers of one ledger share it.
func (db *Store) take(key ledgerKey) *kept {
	db.mu.Lock()
	defer db.mu.Unlock()
	of := db.making[key]
	if of == nil {
		if of, _ = db.ledgers.Get(key); of == nil {
			of = newKept(key)
		}
		db.making[key] = of
	}
	of.users++
	return of
}

// give caches a ledger in its current state. After an error it lacks items, which the next call reads again.
func (db *Store) give(key ledgerKey, of *kept) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if of.users--; of.users == 0 {
		delete(db.making, key)
	}
	db.ledgers.Put(key, of, of.bytes())
}

// hideCustomer replaces the customer of a row if that customer was erased after the row arrived. The erasure updates
// the stored rows later.
func hideCustomer(row *revenue.BillingRow, erased *person.ErasedVisitors) {
	if row.Customer == "" || !erased.Any(row.Environment) {
		return
	}
	if life, gone := erased.ErasedLife(row.Environment, city.CH64([]byte(row.Customer)), row.ReceivedAt.UnixMilli()); gone {
		row.Customer = person.ErasedCustomer(life, row.Customer)
	}
}
