package clickhouse

import (
	"context"
	"fmt"
	"strconv"
)

// share runs a read once for all callers that ask for the same key at the same time. The
// read goes on when a caller gives up, because others may wait for it. The key names all
// that the answer depends on, the environment first (scopeKey); the callers share the
// answer and must not change it. It holds blocks as a whole.
func share[T any](ctx context.Context, db *DB, key string, read func(context.Context) (T, error)) (T, error) {
	// A caller who saw rows of a block elsewhere joins no read from before its end.
	_, ended := db.inserts.counts()
	answer := db.flight.DoChan(key+" "+strconv.FormatUint(ended, 10), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), queryTime)
		defer cancel()
		return whole(ctx, db.inserts, read)
	})
	var none T
	select {
	case <-ctx.Done():
		return none, readError("waiting for a shared read", ctx.Err())
	case result := <-answer:
		if result.Err != nil {
			return none, result.Err
		}
		value, ok := result.Val.(T)
		if !ok {
			return none, fmt.Errorf("a shared read returned %T", result.Val)
		}
		return value, nil
	}
}
