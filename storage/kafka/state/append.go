package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// appender appends free records to a partition.
type appender struct {
	queue
	writer writer
	given  *identity // the identity under which the writer numbers its batches; nil before the first
	needs  bool      // a new identity is needed
}

func newAppender(l *Log, partition int) *appender {
	a := &appender{writer: writer{log: l, partition: partition}, needs: true}
	a.flush = a.append
	return a
}

// anonymous is the identity that the appenders of all partitions share. If one appender cannot use it any more, that
// appender gets a new one. It never gets the same identity twice, since its sequence numbers would restart.
type anonymous struct {
	mu     sync.Mutex
	newest *identity // guarded by mu
}

// another returns an identity other than spent, or any identity if spent is nil.
func (a *anonymous) another(ctx context.Context, l *Log, spent *identity) (*identity, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.newest != spent {
		return a.newest, nil
	}
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionTimeoutMillis = int32(transactionTime / time.Millisecond)
	request.ProducerID, request.ProducerEpoch = -1, -1
	who, err := l.identify(ctx, request)
	if err != nil {
		return nil, err
	}
	a.newest = &who
	return a.newest, nil
}

// Append appends free records to a partition and returns once they are stored. Free records count regardless of the
// partition's owner. Either all of them are appended or none. After an [ErrUnknown] they may be in the log or may still
// reach it; after any other error they do not.
func (l *Log) Append(ctx context.Context, partition int, records []Record) error {
	if err := l.free[partition].do(ctx, free, records); err != nil {
		return fmt.Errorf("appending to partition %d: %w", partition, err)
	}
	return nil
}

// append appends records. If the broker does not know the identity, it continues with a new one.
func (a *appender) append(what kind, records []Record) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	for {
		if a.needs || a.writer.spent() {
			given, err := a.writer.log.anonymous.another(ctx, a.writer.log, a.given)
			if err != nil {
				return 0, err
			}
			a.given, a.writer.who, a.needs = given, *given, false
		}
		offset, doubt, err := a.writer.append(ctx, what, 0, records)
		if err == nil {
			return offset, nil
		}
		// After a batch that may be in the log, no sequence number is right.
		a.needs = true
		if doubt {
			return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		if !misnumbered(err) && !fenced(err) || ctx.Err() != nil {
			return 0, err
		}
	}
}
