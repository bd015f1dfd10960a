package svc

import "context"

// holdKey is the key of the context value of WithHold.
type holdKey struct{}

// WithHold returns a context for a write that may be sent only while holds says that its
// writer still owns what it writes.
func WithHold(ctx context.Context, holds func() bool) context.Context {
	return context.WithValue(ctx, holdKey{}, holds)
}

// HoldOf returns the function that WithHold put into a context, or one that is always true.
func HoldOf(ctx context.Context) (holds func() bool) {
	if holds, ok := ctx.Value(holdKey{}).(func() bool); ok {
		return holds
	}
	return func() bool { return true }
}
