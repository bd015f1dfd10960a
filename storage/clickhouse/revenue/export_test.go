package revenue

import (
	"context"

	"svc/domain/revenue"
)

// Chunk makes a store apply about the given number of items at a time.
func (db *Store) Chunk(items int) { db.chunk = items }

// Reading returns a function that continues the first read of an environment's ledger, within the time of its caller.
func (db *Store) Reading(environment uint64, currency string) func(context.Context) (*revenue.Ledger, error) {
	k := newKept(ledgerKey{environment, currency})
	return func(ctx context.Context) (*revenue.Ledger, error) { return db.follow(ctx, k, db.erased()) }
}
