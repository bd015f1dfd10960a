package revenue

import (
	"context"
	"embed"
	"fmt"
	"sync"

	"github.com/go-faster/city"

	"svc"
	"svc/storage/clickhouse"
	"svc/storage/lru"
)

//go:embed query/*.sql
var files embed.FS

// ledgerBytes bounds the ledgers that a process keeps. One that takes more is made again for each answer.
const ledgerBytes = 256 << 20

// Store makes ledgers. Its methods may be called from any number of goroutines at the same time.
type Store struct {
	conn    *clickhouse.Conn
	queries clickhouse.Queries
	erased  func() *svc.ErasedVisitors
	ledgers *lru.Cache[ledgerKey, *kept]
	// chunk is about how many items are taken over at a time.
	chunk int
	// making has the ledgers that are being made or changed; guarded by mu.
	mu     sync.Mutex
	making map[ledgerKey]*kept
}

// ledgerKey names a ledger: those of other reporting currencies are others.
type ledgerKey struct {
	environment uint64
	currency    string
}

// New returns the revenue of a database. erased says whose customers are not named any more.
func New(conn *clickhouse.Conn, erased func() *svc.ErasedVisitors) (*Store, error) {
	queries, err := clickhouse.LoadQueries(files)
	if err != nil {
		return nil, err
	}
	return &Store{conn: conn, queries: queries, chunk: chunkItems, ledgers: lru.New[ledgerKey, *kept](ledgerBytes), making: map[ledgerKey]*kept{}, erased: erased}, nil
}

// RevenueLedger returns the ledger of an environment in a currency; without one, in that of its first item. What is kept of it follows
// what was stored since; the first one is made of all items. Where that takes longer than a read may, the answer is
// svc.CodeUnavailable and says how far it came, and the next call goes on from there.
func (db *Store) RevenueLedger(ctx context.Context, environment uint64, currency string) (*svc.Ledger, error) {
	key, erased := ledgerKey{environment, currency}, db.erased()
	name := fmt.Sprintf("ledger %d %s %d", environment, currency, erased.Count(environment))
	return clickhouse.Share(ctx, db.conn.Of(environment), name, func(ctx context.Context) (*svc.Ledger, error) {
		of := db.take(key)
		of.mu.Lock()
		defer of.mu.Unlock()
		defer db.give(key, of)
		return db.follow(ctx, of, erased)
	})
}

// take returns what is kept of a ledger. Callers of one ledger at the same time have the same.
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

// give keeps a ledger as it is at present. After an error it lacks what the next call reads again.
func (db *Store) give(key ledgerKey, of *kept) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if of.users--; of.users == 0 {
		delete(db.making, key)
	}
	db.ledgers.Put(key, of, of.bytes())
}

// hideCustomer has a row name no customer who was erased after the row arrived. What is stored follows in the erasure's own time.
func hideCustomer(row *svc.BillingRow, erased *svc.ErasedVisitors) {
	if row.Customer == "" || !erased.Any(row.Environment) {
		return
	}
	if life, gone := erased.ErasedLife(row.Environment, city.CH64([]byte(row.Customer)), row.ReceivedAt.UnixMilli()); gone {
		row.Customer = svc.ErasedCustomer(life, row.Customer)
	}
}
