package grain

import (
	"context"

	"svc/domain"
)

// Random generates ids and secrets.
type Random struct {
	// ID returns a new sortable id with a prefix, for example app_.
	ID func(prefix string) string
	// Bytes returns n random bytes.
	Bytes func(n int) []byte
}

// NewID returns a new id for a call. Repetitions of the call under one Idempotency-Key get the same id.
func (r Random) NewID(ctx context.Context, prefix string) string {
	return domain.DrawID(ctx, prefix, r.ID)
}

// NewBytes returns n random bytes for a call. Repetitions of the call under one Idempotency-Key get the same bytes.
func (r Random) NewBytes(ctx context.Context, n int) []byte { return domain.DrawBytes(ctx, n, r.Bytes) }
