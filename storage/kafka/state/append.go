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
	given  *identity // what the writer numbers its batches under; nil before the first
	needs  bool      // another one is needed
}

func newAppender(l *Log, partition int) *appender {
	a := &appender{writer: writer{log: l, partition: partition}, needs: true}
	a.flush = a.append
	return a
}

// anonymous is the identity that the appenders of all partitions share. One that is of no more
// use for one of them is replaced for that one: it never gets the same twice, since its numbers
// would begin again.
type anonymous struct {
	mu     sync.Mutex
	newest *identity // guarded by mu
}

// another returns an identity other than one, or any if that is nil.
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

// Append appends free records to a partition, which count whoever owns it, and returns once
// they are stored. All are appended, or none. After an [ErrUnknown] they may be in the log, or
// come to be; after any other error they do not.
func (l *Log) Append(ctx context.Context, partition int, records []Record) error {
	if err := l.free[partition].do(ctx, free, records); err != nil {
		return fmt.Errorf("appending to partition %d: %w", partition, err)
	}
	return nil
}

// append appends records. A broker that does not know the identity is told another one.
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
		// No number is right for what follows a batch that may be in the log.
		a.needs = true
		if doubt {
			return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		if !misnumbered(err) && !fenced(err) || ctx.Err() != nil {
			return 0, err
		}
	}
}
