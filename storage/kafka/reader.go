package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

const (
	// fetchWait is how long the broker holds a fetch that finds no record. A new record ends the wait, so the wait adds
	// no delay to it. A shorter wait would only add idle load.
	fetchWait = 5 * time.Second

	// fetchGrace is added to fetchWait before an answer counts as lost.
	fetchGrace = 5 * time.Second

	// fetchBytes is the default of ConsumerConfig.FetchBytes.
	fetchBytes = 4 << 20
)

// reader follows one partition within one generation.
type reader struct {
	cfg       *ConsumerConfig
	link      *link
	partition int
	next      int64
	end       *atomic.Int64
}

func (c *Consumer) newReader(p Position) *reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &reader{
		cfg:       &c.cfg,
		link:      c.link,
		partition: p.Partition,
		next:      p.Offset,
		end:       c.ends[p.Partition],
	}
}

// run delivers records until ctx ends, the handler fails, or the log has lost records that were already read. It
// retries after broker errors: if they persist, the coordinator ends the generation.
func (r *reader) run(ctx context.Context) error {
	for wait := retryFirst; ctx.Err() == nil; {
		records, end, err := r.fetch(ctx)
		if errors.Is(err, kafkago.OffsetOutOfRange) {
			err = r.relocate(ctx)
		}
		if lost, ok := errors.AsType[*lostEnd](err); ok {
			return lost
		}
		if err != nil {
			if ctx.Err() == nil {
				r.cfg.Logger.Debug("fetching", "partition", r.partition, "error", err)
				pause(ctx, wait)
				wait = min(2*wait, retryLast)
			}
			continue
		}
		wait = retryFirst
		if len(records) == 0 {
			continue
		}
		if err := r.cfg.Handler.Records(ctx, r.partition, records, end); err != nil {
			return fmt.Errorf("handling partition %d from offset %d: %w", r.partition, records[0].Offset, err)
		}
		r.next = records[len(records)-1].Offset + 1
		if r.cfg.Gather > 0 && r.next >= end {
			pause(ctx, r.cfg.Gather)
		}
	}
	return nil
}

// fetch waits for records and returns the ones from the next offset on, along with the partition's end offset.
func (r *reader) fetch(ctx context.Context) ([]Record, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait+fetchGrace)
	defer cancel()
	answer, err := r.link.client.Fetch(ctx, &kafkago.FetchRequest{
		Topic:     r.cfg.Topic,
		Partition: r.partition,
		Offset:    r.next,
		MinBytes:  1,
		MaxBytes:  int64(cmp.Or(r.cfg.FetchBytes, fetchBytes)),
		MaxWait:   fetchWait,
	})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return nil, 0, fmt.Errorf("fetching partition %d: %w", r.partition, err)
	}
	r.end.Store(answer.HighWatermark)
	records, err := r.read(answer.Records)
	return records, answer.HighWatermark, err
}

// read copies the records out of an answer. Batches arrive whole, so read skips records before the next offset.
func (r *reader) read(source kafkago.RecordReader) ([]Record, error) {
	var records []Record
	for {
		rec, err := source.ReadRecord()
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading partition %d: %w", r.partition, err)
		}
		value, err := takeValue(rec)
		if err != nil {
			return nil, fmt.Errorf("reading partition %d offset %d: %w", r.partition, rec.Offset, err)
		}
		if rec.Offset < r.next {
			continue
		}
		records = append(records, Record{
			Partition: r.partition,
			Offset:    rec.Offset,
			Time:      rec.Time,
			Value:     value,
		})
	}
}

// takeValue copies a record's value and releases its buffers.
func takeValue(rec *kafkago.Record) ([]byte, error) {
	if rec.Key != nil {
		defer rec.Key.Close()
	}
	if rec.Value == nil {
		return nil, nil
	}
	defer rec.Value.Close()
	value := make([]byte, rec.Value.Len())
	_, err := io.ReadFull(rec.Value, value)
	return value, err
}

// relocate is called when the log has no record at the next offset. If earlier records were deleted, it moves on to the
// first record. If the log ends before the next offset, it returns a [lostEnd].
func (r *reader) relocate(ctx context.Context) error {
	only := []int{r.partition}
	starts, err := r.link.starts(ctx, r.cfg.Topic, only)
	if err != nil {
		return err
	}
	ends, err := r.link.ends(ctx, r.cfg.Topic, only)
	if err != nil {
		return err
	}
	start, end := starts[r.partition], ends[r.partition]
	switch {
	case r.next > end:
		return &lostEnd{r.partition, r.next, end}
	case r.next < start:
		r.skip(start)
	}
	return nil
}

// skip moves on to the offset to and reports the offsets below it as a gap.
func (r *reader) skip(to int64) {
	r.cfg.Logger.Error("log has a gap", "partition", r.partition, "from", r.next, "to", to)
	if r.cfg.Gap != nil {
		r.cfg.Gap(r.partition, r.next, to)
	}
	r.next = to
}

// lostEnd reports a log that ends before records that were already read. Causes: a cluster elected a leader that lacked
// records, a topic was deleted and created again, or a disk went back to an earlier state. New records get offsets that
// were used before.
type lostEnd struct {
	partition int
	read, end int64
}

func (l *lostEnd) Error() string {
	return fmt.Sprintf("partition %d was read up to offset %d and the log now ends at %d: it lost %d records",
		l.partition, l.read, l.end, l.read-l.end)
}
