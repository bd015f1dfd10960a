package state

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// markGroup is the group without members that the marks are positions of.
func (l *Log) markGroup() string { return l.cfg.Topic + "-projected" }

// Mark notes, for all nodes, up to which positions the log is projected: a start and a new owner
// read from there on. Marks are as durable as the log. A cluster forgets them a week after they
// were written, so they are written again at least daily; without a mark a partition is read whole.
//
// Trouble with the brokers is waited out until ctx ends.
//
// Marks are not fenced. That of an owner that is no more only repeats work: it is true, since
// the log does not change, and lower than that of its successor.
func (l *Log) Mark(ctx context.Context, marks map[int]Position) error {
	if len(marks) == 0 {
		return nil
	}
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = l.cfg.Topic
	for partition, at := range marks {
		reign := strconv.FormatUint(uint64(at.Reign), 16)
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = int32(partition), at.Offset, &reign
		topic.Partitions = append(topic.Partitions, p)
	}
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Group, request.Generation, request.Topics = l.markGroup(), -1, []kmsg.OffsetCommitRequestTopic{topic}
	return patiently(ctx, func() error {
		answer, err := l.client.Request(ctx, request)
		if err != nil {
			return fmt.Errorf("noting what is projected: %w", err)
		}
		for _, t := range answer.(*kmsg.OffsetCommitResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return fmt.Errorf("noting what is projected of partition %d: %w", p.Partition, err)
				}
			}
		}
		return nil
	})
}

// Marks returns the marks of all partitions, with one request. A partition without one has the
// zero Position.
func (l *Log) Marks(ctx context.Context) ([]Position, error) {
	topic := kmsg.NewOffsetFetchRequestTopic()
	topic.Topic = l.cfg.Topic
	for _, p := range l.partitions() {
		topic.Partitions = append(topic.Partitions, int32(p))
	}
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group, request.Topics = l.markGroup(), []kmsg.OffsetFetchRequestTopic{topic}
	var marks []Position
	err := patiently(ctx, func() error {
		answer, err := l.client.Request(ctx, request)
		if err == nil {
			marks, err = l.marksIn(answer.(*kmsg.OffsetFetchResponse))
		}
		if err != nil {
			return fmt.Errorf("reading what is projected: %w", err)
		}
		return nil
	})
	return marks, err
}

// marksIn returns the marks in an answer.
func (l *Log) marksIn(answer *kmsg.OffsetFetchResponse) ([]Position, error) {
	marks := make([]Position, l.cfg.Partitions)
	if err := kerr.ErrorForCode(answer.ErrorCode); errors.Is(err, kerr.GroupIDNotFound) {
		return marks, nil
	} else if err != nil {
		return nil, err
	}
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, err
			}
			if p.Offset < 0 || p.Metadata == nil || int(p.Partition) >= len(marks) {
				continue
			}
			reign, err := strconv.ParseUint(*p.Metadata, 16, 64)
			if err != nil {
				continue // not a mark of this program
			}
			marks[p.Partition] = Position{p.Offset, Reign(reign)}
		}
	}
	return marks, nil
}

// patiently repeats what may succeed later until it does or ctx ends.
func patiently(ctx context.Context, do func() error) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		err := do()
		if err == nil || ctx.Err() != nil || !passing(err) {
			return err
		}
		pause(ctx, wait)
	}
}
