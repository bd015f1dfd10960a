package state

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// fetchBytes is the target size of an answer.
	fetchBytes = 8 << 20
	// partBytes is the target size of one partition in an answer about several partitions.
	partBytes = 2 << 20
	// stallTime is how long the log may take to return acknowledged records.
	stallTime = 5 * time.Second
)

// fetched is a broker's answer about a partition.
type fetched struct {
	partition int
	end       int64 // end of the partition
	batches   []byte
	err       error
}

// fetch reads from a leader the records after the given offsets, by partition. Without records it waits for at most
// wait.
func (l *Log) fetch(ctx context.Context, client *kgo.Client, leader int32, from map[int]int64, wait time.Duration) ([]fetched, error) {
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = l.cfg.Topic
	for partition, offset := range from {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes = int32(partition), offset, partBytes
		if len(from) == 1 {
			p.PartitionMaxBytes = fetchBytes
		}
		topic.Partitions = append(topic.Partitions, p)
	}
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = int32(wait/time.Millisecond), 1, fetchBytes
	request.Topics = []kmsg.FetchRequestTopic{topic}
	raw, err := client.Broker(int(leader)).Request(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("reading from broker %d: %w", leader, err)
	}
	answer := raw.(*kmsg.FetchResponse)
	if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
		return nil, fmt.Errorf("reading from broker %d: %w", leader, err)
	}
	var all []fetched
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			all = append(all, fetched{int(p.Partition), p.HighWatermark, p.RecordBatches, kerr.ErrorForCode(p.ErrorCode)})
		}
	}
	return all, nil
}

// until reads a partition up to an offset that the log has, and passes the entries to each. It retries after broker
// errors until ctx ends.
func (l *Log) until(ctx context.Context, partition int, at *cursor, end int64, each func([]Entry)) error {
	progress := time.Now()
	for wait := firstPause; at.at.Offset < end; {
		before := at.at.Offset
		entries, err := l.next(ctx, partition, at)
		if err == nil && len(entries) > 0 {
			each(entries)
		}
		if at.at.Offset > before {
			wait, progress = firstPause, time.Now()
			continue
		}
		if fatal := final(err); fatal || ctx.Err() != nil || err == nil && time.Since(progress) > stallTime {
			if err == nil {
				err = fmt.Errorf("the log ends before offset %d", end)
			}
			return fmt.Errorf("reading partition %d from offset %d: %w", partition, before, err)
		}
		pause(ctx, wait)
		wait = min(2*wait, lastPause)
	}
	return nil
}

// next reads the records after a cursor once, without waiting for new ones.
func (l *Log) next(ctx context.Context, partition int, at *cursor) ([]Entry, error) {
	if err := l.begin(ctx, partition, at); err != nil {
		return nil, err
	}
	leaders, err := l.leadersOf(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := l.fetch(ctx, l.client, leaders[partition], map[int]int64{partition: at.at.Offset}, 0)
	if err == nil && len(answer) != 1 {
		err = errNoAnswer
	}
	if err == nil {
		err = answer[0].err
	}
	if isGap(err) {
		return nil, fmt.Errorf("%w: %w", ErrGap, err)
	}
	if err != nil {
		l.sender.forget()
		return nil, err
	}
	return at.read(answer[0].batches)
}

// begin moves a cursor with the zero position to the start of the log.
func (l *Log) begin(ctx context.Context, partition int, at *cursor) error {
	if at.at != (Position{}) {
		return nil
	}
	start, err := l.offset(ctx, partition, earliest)
	if err == nil {
		at.at.Offset = start
	}
	return err
}
