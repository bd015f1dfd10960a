package reads

import (
	"context"
	"sync"

	"svc/domain"
	"svc/storage/clickhouse"
)

// share runs a read once for all callers that ask for the same key at the same time, as clickhouse.Share does. All statements of
// the read have one set of the people of its segment.
func share[T any](ctx context.Context, db *Store, environment domain.Environment, key string, read func(context.Context) (T, error)) (T, error) {
	return clickhouse.Share(ctx, db.conn.Of(environment.Number), key, func(ctx context.Context) (T, error) {
		return read(context.WithValue(ctx, segmentKey{}, &segmentFilter{}))
	})
}

// clause is the condition that an event is one of a person in a segment, with its values.
type clause struct {
	text string
	args clickhouse.Args
}

// segmentFilter is the segment of one read. Its people are found when the first statement asks for them.
type segmentFilter struct {
	once  sync.Once
	found clause
	err   error
}

// segmentKey is the key of the segment in the context of a read.
type segmentKey struct{}

// segmentOf returns the segment of the read of a context, or a new one outside of reads.
func segmentOf(ctx context.Context) *segmentFilter {
	if of, inRead := ctx.Value(segmentKey{}).(*segmentFilter); inRead {
		return of
	}
	return &segmentFilter{}
}

// find returns the condition of the segment, which is computed once.
func (s *segmentFilter) find(compute func() (clause, error)) (clause, error) {
	s.once.Do(func() { s.found, s.err = compute() })
	return s.found, s.err
}
