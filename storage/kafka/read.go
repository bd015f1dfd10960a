package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	kafkago "github.com/segmentio/kafka-go"
)

// Read returns the records of a partition from offset first through last, regardless of the partition's owner. Records
// that the log no longer has are missing from the result and reported as a gap. Read retries after broker errors until
// ctx ends.
func (c *Consumer) Read(ctx context.Context, partition int, first, last int64) ([]Record, error) {
	r := &reader{cfg: &c.cfg, link: c.link, partition: partition, next: first, end: new(atomic.Int64)}
	var all []Record
	for wait := retryFirst; r.next <= last; {
		records, err := r.within(ctx, last)
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

// within is fetch for offsets that were once in the log: it never waits for new records. If the log ends before last,
// the rest is reported as a gap.
func (r *reader) within(ctx context.Context, last int64) ([]Record, error) {
	ends, err := r.link.ends(ctx, r.cfg.Topic, []int{r.partition})
	if err != nil {
		return nil, err
	}
	if r.next >= ends[r.partition] {
		r.skip(last + 1)
		return nil, nil
	}
	records, _, err := r.fetch(ctx)
	if errors.Is(err, kafkago.OffsetOutOfRange) {
		err = r.relocate(ctx)
	}
	return records, err
}
