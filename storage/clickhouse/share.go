package clickhouse

import (
	"context"
	"fmt"
	"strconv"
)

// Share runs a read once for all callers with the same key at the same time. The read continues when a caller gives up,
// because others may wait for it. The key includes everything on which the answer depends, beginning with the
// environment. The callers share the answer and must not change it. The read sees [Whole] blocks.
func Share[T any](ctx context.Context, c *Conn, key string, read func(context.Context) (T, error)) (T, error) {
	return Join(ctx, c, key, func(ctx context.Context) (T, error) { return Whole(ctx, c, read) })
}

// Join is Share for a statement that several reads need at the same time. Each of these reads must ensure whole blocks
// itself.
func Join[T any](ctx context.Context, c *Conn, key string, read func(context.Context) (T, error)) (T, error) {
	// A caller that saw rows of a block elsewhere must not join a read that began before the block was stored.
	_, ended := c.inserts.counts()
	answer := c.flight.DoChan(key+" "+strconv.FormatUint(ended, 10), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), QueryTime)
		defer cancel()
		return read(ctx)
	})
	var none T
	select {
	case <-ctx.Done():
		return none, ReadError("waiting for a shared read", ctx.Err())
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
