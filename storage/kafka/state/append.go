package state

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// appender appends free records to a partition, under an identity of its own.
type appender struct {
	queue
	writer writer
	known  bool // the writer has an identity
}

func newAppender(l *Log, partition int) *appender {
	a := &appender{writer: writer{log: l, partition: partition}}
	a.flush = a.append
	return a
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

func (a *appender) append(what kind, records []Record) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTime)
	defer cancel()
	if !a.known || a.writer.spent() {
		request := kmsg.NewPtrInitProducerIDRequest()
		request.TransactionTimeoutMillis = int32(transactionTime / time.Millisecond)
		request.ProducerID, request.ProducerEpoch = -1, -1
		who, err := a.writer.log.identify(ctx, request)
		if err != nil {
			return 0, err
		}
		a.writer.who, a.known = who, true
	}
	offset, how, err := a.writer.append(ctx, what, 0, records)
	if err == nil {
		return offset, nil
	}
	// No number is right for what follows a batch that may be in the log.
	a.known = false
	if how.doubt {
		return 0, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return 0, err
}
