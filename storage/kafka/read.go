package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	kafkago "github.com/segmentio/kafka-go"
)

// Read returns the records of a partition from the offset first through last,
// whoever owns the partition. Those that the log no longer has are missing and
// reported as a gap. Trouble with the broker is waited out until ctx ends.
func (c *Consumer) Read(ctx context.Context, partition int, first, last int64) ([]Record, error) {
	r := &reader{cfg: &c.cfg, link: c.link, partition: partition, next: first, end: new(atomic.Int64)}
	var all []Record
	for wait := retryFirst; r.next <= last; {
		records, _, err := r.fetch(ctx)
		if errors.Is(err, kafkago.OffsetOutOfRange) {
			err = r.skip(ctx)
		}
		if err != nil {
			if !pause(ctx, wait) {
				return nil, fmt.Errorf("reading partition %d from offset %d: %w", partition, r.next, err)
			}
			wait = min(2*wait, retryLast)
			continue
		}
		wait = retryFirst
		for _, record := range records {
			if record.Offset <= last {
				all = append(all, record)
			}
			r.next = record.Offset + 1
		}
	}
	return all, nil
}
