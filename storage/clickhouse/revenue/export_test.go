package revenue

import (
	"context"

	"svc"
)

// Chunk has a store take over about so many items at a time.
func (db *Store) Chunk(items int) { db.chunk = items }

// Reading returns a function that goes on with the first reading of an environment's ledger, within a caller's own time.
func (db *Store) Reading(environment uint64, currency string) func(context.Context) (*svc.Ledger, error) {
	k := newKept(ledgerKey{environment, currency})
	return func(ctx context.Context) (*svc.Ledger, error) { return db.follow(ctx, k, db.erased()) }
}
